//! Numbers rounded to f16, kept and multiplied as f32: the results of hardware that multiplies f16 and adds
//! in f32.

use half::f16;
use toller_simd::product::Floats;
use toller_simd::tile::Packed;
use toller_simd::{LANES, Simd};

use super::Reduced;

/// A weight rounded to f16.
pub(crate) struct F16Weight(Packed);

impl F16Weight {
    /// Rounds a row-major matrix `[columns, depth]`.
    pub(crate) fn new(matrix: &[f32], columns: usize, depth: usize) -> Self {
        let rounded: Vec<f32> = matrix.iter().map(|&x| f16::from_f32(x).to_f32()).collect();
        Self(Packed::new(&rounded, columns, depth))
    }
}

impl Reduced for F16Weight {
    type Product = Floats;
    type Conversion = ();

    fn packed(&self) -> &Packed {
        &self.0
    }

    fn depth(&self) -> usize {
        self.0.depth()
    }

    #[inline(always)]
    fn convert<S: Simd>(simd: S, row: &[f32], values: &mut [f32]) {
        for (from, to) in row.chunks(LANES).zip(values.chunks_exact_mut(LANES)) {
            // SAFETY: `from` holds at most sixteen numbers, `to` sixteen.
            unsafe {
                let numbers = simd.load_part(from.as_ptr(), from.len());
                simd.store(to.as_mut_ptr(), simd.round_f16(numbers));
            }
        }
    }

    #[inline(always)]
    unsafe fn numbers<S: Simd>(&self, _simd: S, (): (), _column: usize, sums: S::F32) -> S::F32 {
        sums
    }
}
