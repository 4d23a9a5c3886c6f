//! What this machine allows: the floor of every figure.

use std::convert::Infallible;

use rayon::prelude::*;

use crate::{BenchError, Budget, measure, timed, unit_vectors};

/// The rates of all threads of rayon's current pool together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes read from memory, a second.
    pub read_rate: f64,
    /// Bytes copied to a GPU, a second; infinite on the CPU.
    pub upload_rate: f64,
    /// Multiplications and additions of a matrix product (f32 on the CPU, f16 on a GPU), a second; infinite
    /// where it is not known.
    pub matrix_rate: f64,
}

impl Limits {
    /// The least seconds for reading bytes, of which some are uploaded, and computing operations, which
    /// overlap.
    #[must_use]
    pub fn floor_secs(&self, bytes: f64, uploaded: f64, operations: f64) -> f64 {
        (bytes / self.read_rate).max(uploaded / self.upload_rate).max(operations / self.matrix_rate)
    }
}

/// Bytes a second of reading all of `pieces` with all threads; the median of rounds. Where they fit the
/// caches, it is the rate of the caches.
#[must_use]
pub fn read_rate(pieces: &[&[u8]], budget: &Budget) -> f64 {
    // A line of the accumulators is eight to two registers, depending on their width.
    let sum = |piece: &[u8]| {
        let (lines, rest) = piece.as_chunks::<128>();
        let mut sums = [0_u8; 128];
        for line in lines {
            sums.iter_mut().zip(line).for_each(|(sum, byte)| *sum ^= byte);
        }
        sums.iter().chain(rest).fold(0, |a, b| a ^ b)
    };
    let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
    let share = bytes.div_ceil(rayon::current_num_threads()).max(1);
    let read =
        || pieces.par_iter().flat_map(|piece| piece.par_chunks(share)).map(sum).reduce(|| 0, |a, b| a ^ b);
    rate(bytes as f64, budget, || timed(read))
}

/// Rows, columns and depth of the product that [`matrix_rate`] measures: 17 GFLOP.
const MATRIX: usize = 2048;

/// Operations a second of a large f32 matrix product with all threads, two for a multiply-add; the median of
/// rounds. The crate `gemm` computes the product; it knows nothing of this engine's kernels.
///
/// # Errors
/// [`BenchError::Memory`] if the machine refuses 48 MiB.
pub fn matrix_rate(budget: &Budget) -> Result<f64, BenchError> {
    let (a, b) = (unit_vectors(MATRIX, MATRIX, 3)?, unit_vectors(MATRIX, MATRIX, 4)?);
    let mut c = vec![0_f32; MATRIX * MATRIX];
    let parallelism = match rayon::current_num_threads() {
        1 => gemm::Parallelism::None,
        threads => gemm::Parallelism::Rayon(threads),
    };
    let mut multiply = || {
        let stride = MATRIX as isize;
        let (m, n, k) = (MATRIX, MATRIX, MATRIX);
        let (to, x, y) = (c.as_mut_ptr(), a.as_ptr(), b.as_ptr());
        // SAFETY: three matrices of MATRIX x MATRIX, row after row.
        unsafe {
            gemm::gemm(
                m, n, k, to, 1, stride, false, x, 1, stride, y, 1, stride, 0.0, 1.0, false, false, false,
                parallelism,
            );
        }
    };
    Ok(rate(2.0 * (MATRIX * MATRIX * MATRIX) as f64, budget, || timed(&mut multiply)))
}

/// `work` a second, by the median of rounds.
fn rate(work: f64, budget: &Budget, mut round: impl FnMut() -> std::time::Duration) -> f64 {
    let Ok(timings) = measure(budget, |_| Ok::<_, Infallible>(round()));
    // Reading nothing may take no time on the clock.
    work / timings.median().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::{Limits, matrix_rate, read_rate};
    use crate::{BenchError, Budget};

    #[test]
    fn limits_are_those_of_a_computer() -> Result<(), BenchError> {
        let budget = Budget::rounds(1);
        let bytes = vec![1_u8; 32 << 20];
        let read = read_rate(&[&bytes, &bytes[..77]], &budget);
        assert!((1e8..1e13).contains(&read), "{read}");
        let matrix = matrix_rate(&budget)?;
        assert!((1e8..1e15).contains(&matrix), "{matrix}");
        Ok(())
    }

    #[test]
    fn the_floor_is_the_slowest_of_reading_uploading_and_computing() {
        let limits = Limits { read_rate: 10.0, upload_rate: 2.0, matrix_rate: 100.0 };
        let floors = [(50.0, 0.0), (5.0, 0.0), (50.0, 20.0)];
        assert_eq!(
            floors.map(|(bytes, uploaded)| limits.floor_secs(bytes, uploaded, 100.0)),
            [5.0, 1.0, 10.0]
        );
    }
}
