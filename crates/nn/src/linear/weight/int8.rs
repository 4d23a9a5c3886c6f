//! Signed bytes with a scale for each column of a weight and for each row of an input.
//!
//! A byte is round(127 x / largest), largest being the largest absolute value of the column or row. VNNI
//! multiplies unsigned with signed bytes, so a weight's bytes are stored with 128 added, and 128 times the
//! sum of a row's bytes is taken off its sums again. All sums are exact.

use toller_simd::product::Bytes;
use toller_simd::tile::{AlignedBuffer, Packed};
use toller_simd::{LANES, Simd};

use super::Reduced;

/// The largest byte. The range is symmetric, so -128 is not used.
const LARGEST: f32 = 127.0;

/// A row or column without larger numbers becomes zero: its scale could not be inverted.
const SMALLEST: f32 = 1e-30;

/// A weight in bytes, four along the depth in a value.
pub(crate) struct Int8Weight {
    packed: Packed<i32>,
    /// `[columns]`, padded to whole vectors.
    scales: AlignedBuffer,
    depth: usize,
}

impl Int8Weight {
    /// The longest depth whose sums fit: 255 * 127 * depth < 2^31.
    pub(crate) const LONGEST: usize = 65_536;

    /// Quantises a row-major matrix `[columns, depth]`. A column with a number that is not finite keeps that:
    /// all of its products are NaN.
    pub(crate) fn new(matrix: &[f32], columns: usize, depth: usize) -> Self {
        assert!(depth <= Self::LONGEST, "sums over {depth} products of bytes may not fit");
        let mut scales = AlignedBuffer::zeros(columns);
        let mut quads = Vec::with_capacity(columns * depth.div_ceil(4));
        for (row, scale) in matrix.chunks_exact(depth.max(1)).zip(scales.as_mut_slice()) {
            let largest = row.iter().fold(0.0, |largest: f32, x| largest.max(x.abs()));
            let inverse;
            (*scale, inverse) = scale_of(largest);
            if !row.iter().all(|x| x.is_finite()) {
                *scale = f32::NAN;
            }
            quads.extend(row.chunks(4).map(|four| {
                let mut bytes = [128; 4];
                for (byte, &x) in bytes.iter_mut().zip(four) {
                    *byte = ((x * inverse).round_ties_even() + 128.0) as u8;
                }
                i32::from_le_bytes(bytes)
            }));
        }
        Self { packed: Packed::new(&quads, columns, depth.div_ceil(4)), scales, depth }
    }
}

/// What a byte is multiplied by to be a number, and a number to be a byte.
fn scale_of(largest: f32) -> (f32, f32) {
    if largest < SMALLEST { (0.0, 0.0) } else { (largest / LARGEST, LARGEST / largest) }
}

/// How the bytes of a row become numbers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quantised {
    scale: f32,
    /// -128 times the sum of the row's bytes.
    correction: i32,
}

impl Reduced for Int8Weight {
    type Product = Bytes;
    type Conversion = Quantised;

    fn packed(&self) -> &Packed<i32> {
        &self.packed
    }

    fn depth(&self) -> usize {
        self.depth
    }

    #[inline(always)]
    fn convert<S: Simd>(simd: S, row: &[f32], values: &mut [i32]) -> Quantised {
        let (largest, is_finite) = largest_of(simd, row);
        if !is_finite {
            return Quantised { scale: f32::NAN, correction: 0 };
        }
        let (scale, inverse) = scale_of(largest);
        let inverse = simd.splat(inverse);
        let (whole, rest) = row.as_chunks::<LANES>();
        let mut places = values.chunks_exact_mut(LANES / 4);
        for (numbers, place) in whole.iter().zip(&mut places) {
            // SAFETY: sixteen numbers and as many bytes; no number is above the largest, which becomes 127.
            unsafe {
                let numbers = simd.load(numbers.as_ptr());
                simd.store_i8(place.as_mut_ptr().cast(), simd.mul(numbers, inverse));
            }
        }
        // Beyond the last number are zeros.
        for (at, place) in places.enumerate() {
            let count = if at == 0 { rest.len() } else { 0 };
            // SAFETY: `count` numbers of the rest, and sixteen bytes; no number is above the largest.
            unsafe {
                let numbers = simd.load_part(rest.as_ptr(), count);
                simd.store_i8(place.as_mut_ptr().cast(), simd.mul(numbers, inverse));
            }
        }
        let mut sums = simd.splat_i32(0);
        for line in values.chunks_exact(LANES) {
            // SAFETY: the line is sixteen values.
            sums = simd.dot(sums, simd.splat_i32(0x0101_0101), unsafe { simd.load_i32(line.as_ptr()) });
        }
        Quantised { scale, correction: -128 * simd.sum_i32(sums) }
    }

    #[inline(always)]
    unsafe fn numbers<S: Simd>(&self, simd: S, row: Quantised, column: usize, sums: S::I32) -> S::F32 {
        // SAFETY: the scales are padded to whole vectors.
        let scales = unsafe { simd.load(self.scales.as_slice().as_ptr().add(column)) };
        let sums = simd.to_f32(simd.add_i32(sums, simd.splat_i32(row.correction)));
        simd.mul(sums, simd.mul(scales, simd.splat(row.scale)))
    }
}

/// The largest absolute value of a row, and whether all of its numbers are finite.
#[inline(always)]
fn largest_of<S: Simd>(simd: S, row: &[f32]) -> (f32, bool) {
    let zero = simd.splat(0.0);
    let (mut high, mut low, mut check) = (zero, zero, zero);
    let mut see = |numbers| {
        high = simd.max(high, numbers);
        low = simd.min(low, numbers);
        // Zero times a number is zero, unless the number is infinite or NaN.
        check = simd.fma(numbers, zero, check);
    };
    let (whole, rest) = row.as_chunks::<LANES>();
    for numbers in whole {
        // SAFETY: sixteen numbers.
        see(unsafe { simd.load(numbers.as_ptr()) });
    }
    if !rest.is_empty() {
        // SAFETY: `rest` holds fewer than sixteen numbers.
        see(unsafe { simd.load_part(rest.as_ptr(), rest.len()) });
    }
    (simd.largest(simd.max(high, simd.sub(zero, low))), simd.sum(check) == 0.0)
}
