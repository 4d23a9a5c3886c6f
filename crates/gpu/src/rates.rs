//! What devices allow: the floors that searches are compared with.

use std::sync::Arc;
use std::time::Instant;

use super::device::{Device, Memory, Queue};
use super::{DeviceError, Devices};

/// Measured rates of devices, of all together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceRates {
    /// Bytes a second that a copy inside the memory reads and writes.
    pub copy_rate: f64,
    /// Multiplications and additions a second of an f16 matrix product with f32 sums, by cuBLAS, where that is to be had.
    pub matrix_rate: Option<f64>,
}

/// Bytes that are copied, at most: far more than a cache holds.
const COPIED: u64 = 4 << 30;
/// Rows, columns and depth of the product: 1.1 TFLOP.
const MATRIX: usize = 8192;
/// The quickest of so many rounds counts: a floor is what can be reached.
const ROUNDS: usize = 10;

impl Devices {
    /// Measures both rates, in less than a second a device.
    ///
    /// # Errors
    /// What memory and calls fail with.
    pub fn rates(&self) -> Result<DeviceRates, DeviceError> {
        let mut sum = DeviceRates { copy_rate: 0.0, matrix_rate: Some(0.0) };
        for device in self.iter() {
            sum.copy_rate += copy_rate(device)?;
            sum.matrix_rate = match matrix_rate(device) {
                Err(DeviceError::NoBlas) => None,
                rate => sum.matrix_rate.zip(Some(rate?)).map(|(sum, rate)| sum + rate),
            };
        }
        Ok(sum)
    }
}

fn copy_rate(device: &Arc<dyn Device>) -> Result<f64, DeviceError> {
    let bytes = (device.free_bytes()? / 4).min(COPIED) as usize;
    let (from, to) = (Memory::<u8>::filled(device, bytes, 1)?, Memory::<u8>::new(device, bytes)?);
    let seconds = quickest(device, || {
        // SAFETY: both have as many bytes, and live.
        unsafe { device.copy_within(to.address(), from.address(), bytes) }
    })?;
    Ok(2.0 * bytes as f64 / seconds)
}

fn matrix_rate(device: &Arc<dyn Device>) -> Result<f64, DeviceError> {
    // Numbers as they come: with zeros, or all the same, multipliers take less power and run faster.
    let values = random_halves(MATRIX * MATRIX);
    let halves = || Memory::<u16>::of(device, &values);
    let (a, b, c) = (halves()?, halves()?, Memory::<f32>::new(device, MATRIX * MATRIX)?);
    let seconds = quickest(device, || {
        // SAFETY: three matrices of MATRIX rows and columns, which live.
        unsafe { device.multiply(MATRIX, a.address(), b.address(), c.address()) }
    })?;
    Ok(2.0 * (MATRIX as f64).powi(3) / seconds)
}

/// The bits of f16 numbers between 1/2 and 1, of either sign.
fn random_halves(count: usize) -> Vec<u16> {
    // SplitMix64 (Steele et al. 2014).
    let mut state = 0_u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..count).map(|_| (next() as u16 & 0x83ff) | 0x3800).collect()
}

/// The seconds of the quickest of some rounds, after one that does not count.
fn quickest(
    device: &Arc<dyn Device>,
    work: impl Fn() -> Result<(), DeviceError>,
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
