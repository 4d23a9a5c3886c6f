//! How long each kernel runs.

use std::sync::{Arc, Mutex};

use toller_ir::locked;

use crate::device::{Watched, Watcher};

/// All launches of a kernel together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelTime {
    /// The name of the kernel.
    pub kernel: &'static str,
    /// How often it was launched.
    pub launches: u64,
    /// The seconds of all its launches.
    pub seconds: f64,
}

/// The times of watched kernels, in the order of their first launches.
#[derive(Clone, Debug, Default)]
pub struct KernelTimes(Arc<Mutex<Vec<KernelTime>>>);

impl KernelTimes {
    /// A watcher that adds to these times.
    #[must_use]
    pub fn watcher(&self) -> Watcher {
        let times = self.clone();
        Arc::new(move |watched| times.add(watched))
    }

    /// Adds a launch that has ended.
    pub fn add(&self, watched: &Watched) {
        let Some(seconds) = watched.seconds else { return };
        let mut times = locked(&self.0);
        match times.iter_mut().find(|time| time.kernel == watched.kernel) {
            Some(time) => {
                time.launches += 1;
                time.seconds += seconds;
            }
            None => times.push(KernelTime { kernel: watched.kernel, launches: 1, seconds }),
        }
    }

    /// The times so far.
    #[must_use]
    pub fn all(&self) -> Vec<KernelTime> {
        locked(&self.0).clone()
    }
}
