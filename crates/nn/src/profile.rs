//! Where the time goes: what each operation takes and computes, summed over all threads, during a recording.
//! Without a recording, an operation pays one relaxed load.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use toller_ir::named;

named! {
    /// A kind of work whose time is summed.
    pub enum Operation: "an operation" {
        /// Linear layers, with the bias, activation and residual that are fused into them.
        Linear = "linear",
        /// Attention.
        Attention = "attention",
        /// Layer normalisation.
        LayerNorm = "layer norm",
        /// Pooling, and the scaling of vectors to unit length.
        Pooling = "pooling",
    }
}

/// What an operation took and computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Seconds, summed over threads.
    pub seconds: f64,
    /// Multiplications and additions of its matrix products; 0 for operations that multiply no matrices.
    pub matrix_operations: u64,
}

struct Counter {
    nanoseconds: AtomicU64,
    matrix_operations: AtomicU64,
}

static RECORDING: AtomicBool = AtomicBool::new(false);
static COUNTERS: [Counter; Operation::ALL.len()] =
    [const { Counter { nanoseconds: AtomicU64::new(0), matrix_operations: AtomicU64::new(0) } };
        Operation::ALL.len()];

/// A recording of all operations of this process, from [`Recording::start`] until it is dropped.
#[derive(Debug)]
pub struct Recording(());

impl Recording {
    /// Starts to record; `None` while another recording runs.
    #[must_use]
    pub fn start() -> Option<Self> {
        if RECORDING.swap(true, Ordering::AcqRel) {
            return None;
        }
        for counter in &COUNTERS {
            counter.nanoseconds.store(0, Ordering::Relaxed);
            counter.matrix_operations.store(0, Ordering::Relaxed);
        }
        Some(Self(()))
    }

    /// What an operation has cost so far. Complete once the threads that worked have been joined.
    #[must_use]
    pub fn cost(&self, operation: Operation) -> Cost {
        let counter = &COUNTERS[operation as usize];
        Cost {
            seconds: counter.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9,
            matrix_operations: counter.matrix_operations.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        RECORDING.store(false, Ordering::Release);
    }
}

/// Times an operation from here to where the timer is dropped. Not a closure around the work: kernels are
/// not inlined into those.
#[must_use]
pub(crate) struct Timer {
    operation: Operation,
    started: Option<Instant>,
    matrix_operations: u64,
}

/// Starts to time an operation with this number of multiplications and additions in matrix products.
pub(crate) fn timer(operation: Operation, matrix_operations: usize) -> Timer {
    let started = RECORDING.load(Ordering::Relaxed).then(Instant::now);
    Timer { operation, started, matrix_operations: matrix_operations as u64 }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(started) = self.started {
            let counter = &COUNTERS[self.operation as usize];
            counter.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
            counter.matrix_operations.fetch_add(self.matrix_operations, Ordering::Relaxed);
        }
    }
}

/// Counts the operations of work that a device does later. Its kernels are timed by the device.
pub(crate) fn count(operation: Operation, matrix_operations: usize) {
    if RECORDING.load(Ordering::Relaxed) {
        let counter = &COUNTERS[operation as usize];
        counter.matrix_operations.fetch_add(matrix_operations as u64, Ordering::Relaxed);
    }
}
