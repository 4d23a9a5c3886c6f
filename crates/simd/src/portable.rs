//! Sixteen lanes as an array, for the compiler to vectorise with what the target has.

use std::array::from_fn;

use half::{bf16, f16};

use super::lanes::{ByteLanes, DoubleLanes, Lanes, PairLanes, round_for_pairs};
use super::{Kernel, LANES, Simd};

/// Any CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

type Floats = [f32; LANES];
type Integers = [i32; LANES];
type Doubles = [f64; LANES];

impl Simd for Portable {
    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

/// Methods that do the same to every lane.
macro_rules! lane_by_lane {
    ($($name:ident($($operand:ident: $type:ty),+) -> $result:ty = $lane:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($operand: $type),+) -> $result {
            from_fn(|lane| {
                $(let $operand = $operand[lane];)+
                $lane
            })
        }
    )+};
}

impl Lanes for Portable {
    type F32 = Floats;

    // Sixteen lanes are four registers of 128 bits: 4 x 4 accumulators, of 32 registers.
    const TILE_ROWS: usize = 4;
    const TILE_VECTORS: usize = 1;

    lane_by_lane! {
        add(a: Floats, b: Floats) -> Floats = a + b;
        sub(a: Floats, b: Floats) -> Floats = a - b;
        mul(a: Floats, b: Floats) -> Floats = a * b;
        div(a: Floats, b: Floats) -> Floats = a / b;
        fma(a: Floats, b: Floats, c: Floats) -> Floats = a.mul_add(b, c);
        // As x86's maxps and minps: the second operand unless the first is greater, or less.
        max(a: Floats, b: Floats) -> Floats = if a > b { a } else { b };
        min(a: Floats, b: Floats) -> Floats = if a < b { a } else { b };
        round(a: Floats) -> Floats = a.round_ties_even();
        round_f16(a: Floats) -> Floats = f16::from_f32(a).to_f32();
        exp2_integral(a: Floats) -> Floats = f32::from_bits(((a as i32 + 127) as u32) << 23);
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Floats {
        [value; LANES]
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Floats {
        // SAFETY: the caller guarantees sixteen values, aligned or not.
        unsafe { from.cast::<Floats>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: Floats) {
        // SAFETY: the caller guarantees sixteen values, aligned or not.
        unsafe { to.cast::<Floats>().write_unaligned(value) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, from: *const f16) -> Floats {
        // SAFETY: the caller guarantees sixteen values, aligned or not.
        let lanes = unsafe { from.cast::<[f16; LANES]>().read_unaligned() };
        lanes.map(f16::to_f32)
    }

    #[inline(always)]
    unsafe fn load_bf16(self, from: *const bf16) -> Floats {
        // SAFETY: the caller guarantees sixteen values, aligned or not.
        let lanes = unsafe { from.cast::<[bf16; LANES]>().read_unaligned() };
        lanes.map(|x| f32::from_bits(u32::from(x.to_bits()) << 16))
    }

    #[inline(always)]
    fn not_less(self, a: Floats, b: Floats) -> u16 {
        let mut mask = 0;
        for lane in 0..LANES {
            let less = a[lane] < b[lane];
            mask |= u16::from(!less) << lane;
        }
        mask
    }
}

impl DoubleLanes for Portable {
    type F64 = Doubles;

    lane_by_lane! {
        widen(a: Floats) -> Doubles = f64::from(a);
        add_product(a: Doubles, b: Doubles, c: Doubles) -> Doubles = a * b + c;
    }

    #[inline(always)]
    fn to_array_f64(self, a: Doubles) -> Doubles {
        a
    }
}

impl ByteLanes for Portable {
    type I32 = Integers;

    lane_by_lane! {
        dot(sums: Integers, a: Integers, b: Integers) -> Integers = {
            let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
            products.map(|(a, b)| i32::from(a) * i32::from(b as i8)).fold(sums, i32::wrapping_add)
        };
        add_i32(a: Integers, b: Integers) -> Integers = a.wrapping_add(b);
        abs_i8(a: Integers) -> Integers =
            i32::from_le_bytes(a.to_le_bytes().map(|byte| (byte as i8).unsigned_abs()));
        to_f32(a: Integers) -> Floats = a as f32;
    }

    #[inline(always)]
    fn splat_i32(self, value: i32) -> Integers {
        [value; LANES]
    }

    #[inline(always)]
    unsafe fn load_i32(self, from: *const i32) -> Integers {
        // SAFETY: the caller guarantees 64 bytes, aligned or not.
        unsafe { from.cast::<Integers>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store_i8(self, to: *mut i8, a: Floats) {
        let bytes = a.map(|lane| lane.round_ties_even() as i8);
        // SAFETY: the caller guarantees sixteen bytes.
        unsafe { to.cast::<[i8; LANES]>().write_unaligned(bytes) }
    }

    #[inline(always)]
    fn to_array_i32(self, a: Integers) -> Integers {
        a
    }
}

impl PairLanes for Portable {
    lane_by_lane! {
        dot_pairs(sums: Floats, a: Integers, b: Integers) -> Floats = {
            let first = |pair: i32| f32::from_bits((pair as u32) << 16);
            let second = |pair: i32| f32::from_bits(pair as u32 & 0xffff_0000);
            first(a).mul_add(first(b), second(a).mul_add(second(b), sums))
        };
    }

    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut bf16, a: Floats) {
        // SAFETY: the caller guarantees sixteen values, aligned or not.
        unsafe { to.cast::<[bf16; LANES]>().write_unaligned(a.map(round_for_pairs)) }
    }
}
