//! What can be done with sixteen lanes: a family of operations for each type of number.
//!
//! Every operation is lane-wise IEEE 754, rounded to nearest even: the same bits on all instruction sets.

use half::{bf16, f16};

use crate::LANES;

/// Numbers closer to zero are zero in pairs of bf16, so that [`PairLanes::dot_pairs`] is exact to the bit.
///
/// The instruction flushes subnormal sums to zero; fused multiply-adds do not. With numbers of eight bits
/// from 2^-54 upwards there is nothing to flush: a product is a multiple of 2^-122, and so is every rounded
/// sum of products, while subnormals are below 2^-126.
pub const SMALLEST_IN_PAIRS: f32 = 1.0 / (1_u64 << 54) as f32;

/// What a NaN becomes in bf16.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) const BF16_NAN: i32 = 0x7fc0;

/// The bf16 that a number becomes in a pair: the nearest, ties to even, or zero below [`SMALLEST_IN_PAIRS`].
#[inline(always)]
pub fn round_for_pairs(x: f32) -> bf16 {
    if x.abs() < SMALLEST_IN_PAIRS { bf16::ZERO } else { bf16::from_f32(x) }
}

/// Sixteen lanes of f32.
pub trait Lanes: Copy + Send + Sync + 'static {
    /// Sixteen lanes of f32.
    type F32: Copy;

    /// Rows of the register tile of a matrix product.
    const TILE_ROWS: usize;
    /// Vectors (of sixteen columns) of the register tile of a matrix product.
    const TILE_VECTORS: usize;

    /// `value` in all lanes.
    fn splat(self, value: f32) -> Self::F32;
    /// Loads sixteen lanes.
    ///
    /// # Safety
    /// `from` is valid for reading sixteen f32; it need not be aligned.
    unsafe fn load(self, from: *const f32) -> Self::F32;
    /// Stores sixteen lanes.
    ///
    /// # Safety
    /// `to` is valid for writing sixteen f32; it need not be aligned.
    unsafe fn store(self, to: *mut f32, value: Self::F32);
    /// Loads sixteen f16 as f32, which is exact.
    ///
    /// # Safety
    /// `from` is valid for reading sixteen f16; it need not be aligned.
    unsafe fn load_f16(self, from: *const f16) -> Self::F32;
    /// Loads sixteen bf16 as f32, which is exact.
    ///
    /// # Safety
    /// `from` is valid for reading sixteen bf16; it need not be aligned.
    unsafe fn load_bf16(self, from: *const bf16) -> Self::F32;
    /// The lanes as an array, lane 0 first.
    #[inline(always)]
    fn to_array(self, a: Self::F32) -> [f32; LANES] {
        let mut lanes = [0.0; LANES];
        // SAFETY: `lanes` holds sixteen values.
        unsafe { self.store(lanes.as_mut_ptr(), a) };
        lanes
    }

    /// `a + b`.
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a - b`.
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b`.
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a / b`.
    fn div(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// The larger value: `a` if it is greater than `b`, else `b`, also if one is NaN.
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The smaller value: `a` if it is less than `b`, else `b`, also if one is NaN.
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// To the nearest integer, ties to even.
    fn round(self, a: Self::F32) -> Self::F32;
    /// To the nearest f16 (ties to even; infinite beyond its range) and back.
    fn round_f16(self, a: Self::F32) -> Self::F32;
    /// 2 to the power of `a`, for integral values in -126..=127.
    fn exp2_integral(self, a: Self::F32) -> Self::F32;
    /// `a` times 2 to the power of `n`, for integral `n` in -126..=127 and a result that is a normal number.
    #[inline(always)]
    fn times_exp2(self, a: Self::F32, n: Self::F32) -> Self::F32 {
        self.mul(a, self.exp2_integral(n))
    }
    /// The lanes where `a < b` does not hold, NaN included: bit `i` is lane `i`.
    fn not_less(self, a: Self::F32, b: Self::F32) -> u16;

    /// The sum of the lanes, halves added until one lane is left.
    #[inline(always)]
    fn sum(self, a: Self::F32) -> f32 {
        fold(self.to_array(a), |x, y| x + y)
    }

    /// The largest lane.
    #[inline(always)]
    fn largest(self, a: Self::F32) -> f32 {
        fold(self.to_array(a), f32::max)
    }

    /// Loads the first `count` lanes; the others are zero.
    ///
    /// # Safety
    /// `from` is valid for reading `count` f32; `count` is at most sixteen.
    #[inline(always)]
    unsafe fn load_part(self, from: *const f32, count: usize) -> Self::F32 {
        let mut lanes = [0.0; LANES];
        // SAFETY: the caller guarantees `count` readable values and for the bound.
        unsafe {
            std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
            self.load(lanes.as_ptr())
        }
    }

    /// Stores the first `count` lanes.
    ///
    /// # Safety
    /// `to` is valid for writing `count` f32; `count` is at most sixteen.
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, value: Self::F32, count: usize) {
        let lanes = self.to_array(value);
        // SAFETY: the caller guarantees `count` writable values and for the bound.
        unsafe { std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count) }
    }
}

/// Sixteen lanes of f64, for sums of exact products.
pub trait DoubleLanes: Lanes {
    /// Sixteen lanes of f64.
    type F64: Copy;

    /// The lanes in f64, which is exact.
    fn widen(self, a: Self::F32) -> Self::F64;
    /// `a * b + c` where `a` and `b` hold f32 values. Products are exact in f64: the result is rounded once,
    /// fused or not.
    fn add_product(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64;
    /// The lanes as an array, lane 0 first.
    fn to_array_f64(self, a: Self::F64) -> [f64; LANES];

    /// The sum of the lanes, halves added until one lane is left.
    #[inline(always)]
    fn sum_f64(self, a: Self::F64) -> f64 {
        fold(self.to_array_f64(a), |x, y| x + y)
    }
}

/// Sixteen lanes of four bytes, and of the i32 sums of their products.
pub trait ByteLanes: Lanes {
    /// Sixteen lanes of i32, or of four bytes each.
    type I32: Copy;

    /// `value` in all lanes.
    fn splat_i32(self, value: i32) -> Self::I32;
    /// Loads sixteen lanes of i32, which are 64 bytes.
    ///
    /// # Safety
    /// `from` is valid for reading 64 bytes; it need not be aligned.
    unsafe fn load_i32(self, from: *const i32) -> Self::I32;
    /// Stores the lanes of `a`, rounded to the nearest integer (ties to even), as signed bytes.
    ///
    /// # Safety
    /// `to` is valid for writing sixteen bytes; the rounded lanes are in -128..=127.
    unsafe fn store_i8(self, to: *mut i8, a: Self::F32);
    /// The lanes as an array, lane 0 first.
    fn to_array_i32(self, a: Self::I32) -> [i32; LANES];

    /// Adds to each lane of `sums` the inner product of its four unsigned bytes of `a` and its four signed
    /// bytes of `b`: exact, as long as the sum fits.
    fn dot(self, sums: Self::I32, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a + b`, wrapping.
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// The absolute values of signed bytes above -128.
    fn abs_i8(self, a: Self::I32) -> Self::I32;
    /// The nearest f32, ties to even.
    fn to_f32(self, a: Self::I32) -> Self::F32;

    /// The sum of the lanes, which fits.
    #[inline(always)]
    fn sum_i32(self, a: Self::I32) -> i32 {
        fold(self.to_array_i32(a), i32::wrapping_add)
    }
}

/// Sixteen lanes of pairs of bf16, which are moved as four bytes.
pub trait PairLanes: ByteLanes {
    /// Adds to each lane of `sums` the products of a pair of bf16: first that of the numbers in the upper
    /// half of the lane, then that of the lower, each with one rounding. This is what VDPBF16PS does for
    /// numbers that `store_bf16` stored (see [`SMALLEST_IN_PAIRS`]) and `sums` that began with zero.
    fn dot_pairs(self, sums: Self::F32, a: Self::I32, b: Self::I32) -> Self::F32;
    /// Stores the lanes of `a` as [`round_for_pairs`] rounds them; NaN stays NaN.
    ///
    /// # Safety
    /// `to` is valid for writing sixteen bf16; it need not be aligned.
    unsafe fn store_bf16(self, to: *mut bf16, a: Self::F32);
}

/// Halves the lanes until one is left: the one order of every reduction.
#[inline(always)]
fn fold<T: Copy>(mut lanes: [T; LANES], combine: impl Fn(T, T) -> T) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}
