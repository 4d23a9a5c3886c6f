//! The rates that devices can reach: the floors that searches are compared with.

use std::sync::Arc;
use std::time::Instant;

use crate::device::{self, Device, Memory, Pinned, Queue};
use crate::devices::Devices;
use crate::error::DeviceError;

/// Measured rates, summed over devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceRates {
    /// Bytes a second that a copy inside the memory reads and writes.
    pub copy_rate: f64,
    /// Bytes a second that are copied from pinned memory of the host.
    pub upload_rate: f64,
    /// Multiplications and additions a second of cuBLAS in f16 matrix products, if it is there.
    pub matrix_rate: Option<f64>,
}

/// The most bytes that are copied: far more than a cache holds.
const COPIED: u64 = 4 << 30;
/// Bytes of an upload: far more than starting it costs.
const UPLOADED: usize = 256 << 20;
/// The quickest of this many rounds counts, since a floor is what can be reached.
const ROUNDS: usize = 10;

impl Devices {
    /// Measures all rates, in less than a second per device.
    ///
    /// # Errors
    /// Those of memory and calls.
    pub fn rates(&self) -> Result<DeviceRates, DeviceError> {
        let mut sum = DeviceRates { copy_rate: 0.0, upload_rate: 0.0, matrix_rate: Some(0.0) };
        for device in self.iter() {
            sum.copy_rate += copy_rate(device)?;
            sum.upload_rate += upload_rate(device)?;
            let matrix_rate = device::matrix_rate(device)?;
            sum.matrix_rate = sum.matrix_rate.zip(matrix_rate).map(|(sum, rate)| sum + rate);
        }
        Ok(sum)
    }
}

fn copy_rate(device: &Arc<dyn Device>) -> Result<f64, DeviceError> {
    let bytes = (device.free_bytes()? / 4).min(COPIED) as usize;
    let (from, to) = (Memory::<u8>::filled(device, bytes, 1)?, Memory::<u8>::new(device, bytes)?);
    let seconds = quickest(device, || {
        // SAFETY: both memories have `bytes` bytes and live until `quickest` has waited for the copy.
        unsafe { device.copy_within(to.address(), from.address(), bytes) }
    })?;
    Ok(2.0 * bytes as f64 / seconds)
}

fn upload_rate(device: &Arc<dyn Device>) -> Result<f64, DeviceError> {
    let bytes = (device.free_bytes()? / 4).min(UPLOADED as u64) as usize;
    let to = Memory::<u8>::new(device, bytes)?;
    let mut from = Pinned::new(device, bytes)?;
    // What was never written is not in memory yet.
    from.bytes_mut()?.fill(1);
    let seconds = quickest(device, || {
        // SAFETY: both have `bytes` bytes. `quickest` waits for the copy. After an error, `from` is dropped
        // first, and waits for it.
        unsafe { from.copy_to(to.address(), bytes)? };
        from.precede_kernels()
    })?;
    Ok(bytes as f64 / seconds)
}

/// The seconds of the quickest round, after one that does not count. Waits for the work of each round.
pub(crate) fn quickest(
    device: &Arc<dyn Device>,
    mut work: impl FnMut() -> Result<(), DeviceError>,
) -> Result<f64, DeviceError> {
    let mut least = f64::INFINITY;
    for round in 0..=ROUNDS {
        device.synchronize(Queue::Compute)?;
        let started = Instant::now();
        work()?;
        device.synchronize(Queue::Compute)?;
        if round > 0 {
            least = least.min(started.elapsed().as_secs_f64());
        }
    }
    Ok(least)
}
