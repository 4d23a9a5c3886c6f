//! Numbers rounded to bf16, in pairs along the depth; an odd depth ends with a zero.

use toller_simd::product::Pairs;
use toller_simd::tile::Packed;
use toller_simd::{LANES, Simd, round_for_pairs};

use super::Reduced;

/// A weight rounded to bf16.
pub(crate) struct Bf16Weight {
    packed: Packed<i32>,
    depth: usize,
}

impl Bf16Weight {
    /// Rounds a row-major matrix `[columns, depth]`.
    pub(crate) fn new(matrix: &[f32], columns: usize, depth: usize) -> Self {
        let bits = |x: &f32| i32::from(round_for_pairs(*x).to_bits());
        let pairs = matrix
            .chunks_exact(depth.max(1))
            .flat_map(|row| row.chunks(2).map(|pair| bits(&pair[0]) | pair.get(1).map_or(0, bits) << 16));
        let pairs: Vec<i32> = pairs.collect();
        Self { packed: Packed::new(&pairs, columns, depth.div_ceil(2)), depth }
    }
}

impl Reduced for Bf16Weight {
    type Product = Pairs;
    type Conversion = ();

    fn packed(&self) -> &Packed<i32> {
        &self.packed
    }

    fn depth(&self) -> usize {
        self.depth
    }

    #[inline(always)]
    fn convert<S: Simd>(simd: S, row: &[f32], values: &mut [i32]) {
        convert_to_pairs(simd, row, values);
    }

    #[inline(always)]
    unsafe fn numbers<S: Simd>(&self, _simd: S, (): (), _column: usize, sums: S::F32) -> S::F32 {
        sums
    }
}

/// Rounds numbers to bf16, in pairs; what is beyond them up to a whole vector of numbers is zero.
///
/// # Panics
/// When `pairs` has no room for the numbers rounded up to whole vectors.
#[inline(always)]
pub(crate) fn convert_to_pairs<S: Simd>(simd: S, numbers: &[f32], pairs: &mut [i32]) {
    assert!(2 * pairs.len() >= numbers.len().next_multiple_of(LANES), "too few pairs");
    for (from, to) in numbers.chunks(LANES).zip(pairs.chunks_exact_mut(LANES / 2)) {
        // SAFETY: `from` holds at most sixteen numbers, `to` eight pairs.
        unsafe {
            let numbers = simd.load_part(from.as_ptr(), from.len());
            simd.store_bf16(to.as_mut_ptr().cast(), numbers);
        }
    }
}
