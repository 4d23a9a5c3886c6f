//! Sixteen lanes as an array, for the compiler to vectorise with what the target has.

use half::{bf16, f16};

use super::{Kernel, LANES, Simd, round_for_pairs};

/// Any CPU.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

type Lanes = [f32; LANES];

#[inline(always)]
fn lanewise(a: Lanes, b: Lanes, operation: impl Fn(f32, f32) -> f32) -> Lanes {
    std::array::from_fn(|lane| operation(a[lane], b[lane]))
}

impl Simd for Portable {
    type F32 = Lanes;
    type F64 = [f64; LANES];
    type I32 = [i32; LANES];

    // Sixteen lanes are four registers of NEON: 4 x 4 accumulators of 32 registers.
    const TILE_ROWS: usize = 4;
    const TILE_VECTORS: usize = 1;

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Lanes {
        [value; LANES]
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Lanes {
        // SAFETY: the caller vouches for sixteen values; arrays of f32 need no more than f32's alignment,
        // which `read_unaligned` does not need either.
        unsafe { from.cast::<Lanes>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: Lanes) {
        // SAFETY: as for `load`.
        unsafe { to.cast::<Lanes>().write_unaligned(value) }
    }

    #[inline(always)]
    fn add(self, a: Lanes, b: Lanes) -> Lanes {
        lanewise(a, b, |x, y| x + y)
    }

    #[inline(always)]
    fn sub(self, a: Lanes, b: Lanes) -> Lanes {
        lanewise(a, b, |x, y| x - y)
    }

    #[inline(always)]
    fn mul(self, a: Lanes, b: Lanes) -> Lanes {
        lanewise(a, b, |x, y| x * y)
    }

    #[inline(always)]
    fn div(self, a: Lanes, b: Lanes) -> Lanes {
        lanewise(a, b, |x, y| x / y)
    }

    #[inline(always)]
    fn fma(self, a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        std::array::from_fn(|lane| a[lane].mul_add(b[lane], c[lane]))
    }

    #[inline(always)]
    fn max(self, a: Lanes, b: Lanes) -> Lanes {
        // As x86's maxps: the second operand unless the first is greater.
        lanewise(a, b, |x, y| if x > y { x } else { y })
    }

    #[inline(always)]
    fn min(self, a: Lanes, b: Lanes) -> Lanes {
        lanewise(a, b, |x, y| if x < y { x } else { y })
    }

    #[inline(always)]
    fn round(self, a: Lanes) -> Lanes {
        a.map(f32::round_ties_even)
    }

    #[inline(always)]
    fn exp2_integral(self, a: Lanes) -> Lanes {
        a.map(|x| f32::from_bits(((x as i32 + 127) as u32) << 23))
    }

    #[inline(always)]
    fn to_array(self, a: Lanes) -> [f32; LANES] {
        a
    }

    #[inline(always)]
    fn not_less(self, a: Lanes, b: Lanes) -> u16 {
        let mut mask = 0;
        for lane in 0..LANES {
            let less = a[lane] < b[lane];
            mask |= u16::from(!less) << lane;
        }
        mask
    }

    #[inline(always)]
    unsafe fn load_f16(self, from: *const f16) -> Lanes {
        // SAFETY: as for `load`.
        let lanes = unsafe { from.cast::<[f16; LANES]>().read_unaligned() };
        lanes.map(f16::to_f32)
    }

    #[inline(always)]
    unsafe fn load_bf16(self, from: *const bf16) -> Lanes {
        // SAFETY: as for `load`.
        let lanes = unsafe { from.cast::<[bf16; LANES]>().read_unaligned() };
        lanes.map(|x| f32::from_bits(u32::from(x.to_bits()) << 16))
    }

    #[inline(always)]
    fn round_f16(self, a: Lanes) -> Lanes {
        a.map(|lane| f16::from_f32(lane).to_f32())
    }

    #[inline(always)]
    fn widen(self, a: Lanes) -> [f64; LANES] {
        a.map(f64::from)
    }

    #[inline(always)]
    fn add_product(self, a: [f64; LANES], b: [f64; LANES], c: [f64; LANES]) -> [f64; LANES] {
        std::array::from_fn(|lane| a[lane] * b[lane] + c[lane])
    }

    #[inline(always)]
    fn to_array_f64(self, a: [f64; LANES]) -> [f64; LANES] {
        a
    }

    #[inline(always)]
    fn splat_i32(self, value: i32) -> [i32; LANES] {
        [value; LANES]
    }

    #[inline(always)]
    unsafe fn load_i32(self, from: *const i32) -> [i32; LANES] {
        // SAFETY: the caller vouches for 64 bytes.
        unsafe { from.cast::<[i32; LANES]>().read_unaligned() }
    }

    #[inline(always)]
    fn dot(self, sums: [i32; LANES], a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        std::array::from_fn(|lane| {
            let products = a[lane].to_le_bytes().into_iter().zip(b[lane].to_le_bytes());
            products.map(|(a, b)| i32::from(a) * i32::from(b as i8)).fold(sums[lane], i32::wrapping_add)
        })
    }

    #[inline(always)]
    fn add_i32(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        std::array::from_fn(|lane| a[lane].wrapping_add(b[lane]))
    }

    #[inline(always)]
    fn abs_i8(self, a: [i32; LANES]) -> [i32; LANES] {
        a.map(|bytes| i32::from_le_bytes(bytes.to_le_bytes().map(|byte| (byte as i8).unsigned_abs())))
    }

    #[inline(always)]
    fn to_f32(self, a: [i32; LANES]) -> Lanes {
        a.map(|lane| lane as f32)
    }

    #[inline(always)]
    fn to_array_i32(self, a: [i32; LANES]) -> [i32; LANES] {
        a
    }

    #[inline(always)]
    unsafe fn store_i8(self, to: *mut i8, a: Lanes) {
        let bytes = a.map(|lane| lane.round_ties_even() as i8);
        // SAFETY: the caller vouches for sixteen bytes.
        unsafe { to.cast::<[i8; LANES]>().write_unaligned(bytes) }
    }

    #[inline(always)]
    fn dot_pairs(self, sums: Lanes, a: [i32; LANES], b: [i32; LANES]) -> Lanes {
        let first = |pair: i32| f32::from_bits((pair as u32) << 16);
        let second = |pair: i32| f32::from_bits(pair as u32 & 0xffff_0000);
        std::array::from_fn(|lane| {
            let (a, b) = (a[lane], b[lane]);
            first(a).mul_add(first(b), second(a).mul_add(second(b), sums[lane]))
        })
    }

    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut bf16, a: Lanes) {
        // SAFETY: the caller vouches for sixteen values.
        unsafe { to.cast::<[bf16; LANES]>().write_unaligned(a.map(round_for_pairs)) }
    }
}
