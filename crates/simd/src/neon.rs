//! NEON: sixteen lanes are four registers.

use std::arch::aarch64::*;
use std::arch::asm;
use std::array::from_fn;

use half::{bf16, f16};

use super::lanes::{BF16_NAN, ByteLanes, DoubleLanes, Lanes, PairLanes, SMALLEST_IN_PAIRS};
use super::{Kernel, LANES, Simd};

instruction_set! {
    /// NEON, which every 64-bit Arm has.
    Neon = FourRegisters<false, false>: "neon"
}

instruction_set! {
    /// [`Neon`] with products of signed bytes.
    NeonDotProd = FourRegisters<true, false>: "neon", "dotprod"
}

instruction_set! {
    /// [`Neon`] with products of unsigned and signed bytes.
    NeonI8mm = FourRegisters<false, true>: "neon", "i8mm"
}

/// A CPU with NEON; with `DOTPROD` or `I8MM`, also that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FourRegisters<const DOTPROD: bool, const I8MM: bool>(());

/// Registers of sixteen lanes.
const REGISTERS: usize = 4;
/// Lanes of a register.
const WIDTH: usize = LANES / REGISTERS;

/// Four lanes each, lane 0 first.
type Floats = [float32x4_t; REGISTERS];
/// Four lanes each, lane 0 first.
type Integers = [int32x4_t; REGISTERS];
/// Two lanes each, lane 0 first.
type Doubles = [float64x2_t; 2 * REGISTERS];

/// Methods that do the same to each register.
macro_rules! on_each_register {
    ($($name:ident($($operand:ident: $type:ty),+) -> $result:ty = $instruction:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($operand: $type),+) -> $result {
            from_fn(|register| {
                $(let $operand = $operand[register];)+
                // SAFETY: `self` proves the features.
                unsafe { $instruction }
            })
        }
    )+};
}

impl<const DOTPROD: bool, const I8MM: bool> Lanes for FourRegisters<DOTPROD, I8MM> {
    type F32 = Floats;

    // 6 x 4 accumulators, 4 registers of weights and a broadcast: 29 of 32 registers.
    const TILE_ROWS: usize = 6;
    const TILE_VECTORS: usize = 1;

    on_each_register! {
        add(a: Floats, b: Floats) -> Floats = vaddq_f32(a, b);
        sub(a: Floats, b: Floats) -> Floats = vsubq_f32(a, b);
        mul(a: Floats, b: Floats) -> Floats = vmulq_f32(a, b);
        div(a: Floats, b: Floats) -> Floats = vdivq_f32(a, b);
        fma(a: Floats, b: Floats, c: Floats) -> Floats = vfmaq_f32(c, a, b);
        // As x86's maxps and minps, in the sign of zero too: the second unless the first is greater, or less.
        max(a: Floats, b: Floats) -> Floats = vbslq_f32(vcgtq_f32(a, b), a, b);
        min(a: Floats, b: Floats) -> Floats = vbslq_f32(vcltq_f32(a, b), a, b);
        round(a: Floats) -> Floats = vrndnq_f32(a);
        round_f16(a: Floats) -> Floats = vcvt_f32_f16(vcvt_f16_f32(a));
        exp2_integral(a: Floats) -> Floats = {
            let exponent = vaddq_s32(vcvtq_s32_f32(a), vdupq_n_s32(127));
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(exponent))
        };
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Floats {
        // SAFETY: `self` proves the features.
        [unsafe { vdupq_n_f32(value) }; REGISTERS]
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Floats {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, four times four.
        from_fn(|register| unsafe { vld1q_f32(from.add(WIDTH * register)) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: Floats) {
        for (register, four) in value.into_iter().enumerate() {
            // SAFETY: `self` proves the features; the caller guarantees sixteen values, four times four.
            unsafe { vst1q_f32(to.add(WIDTH * register), four) };
        }
    }

    #[inline(always)]
    unsafe fn load_f16(self, from: *const f16) -> Floats {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, four times four.
        from_fn(|register| unsafe {
            vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from.add(WIDTH * register).cast())))
        })
    }

    #[inline(always)]
    unsafe fn load_bf16(self, from: *const bf16) -> Floats {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, four times four.
        from_fn(|register| unsafe {
            vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(from.add(WIDTH * register).cast())))
        })
    }

    #[inline(always)]
    fn not_less(self, a: Floats, b: Floats) -> u16 {
        const BITS: [u32; WIDTH] = [1, 2, 4, 8];
        // SAFETY: `self` proves the features; an array of four is loaded.
        unsafe {
            let bits = vld1q_u32(BITS.as_ptr());
            // The bits of lanes where `a < b` holds are cleared.
            let kept = |register: usize| vbicq_u32(bits, vcltq_f32(a[register], b[register]));
            let low = vorrq_u32(kept(0), vshlq_n_u32::<4>(kept(1)));
            let high = vorrq_u32(vshlq_n_u32::<8>(kept(2)), vshlq_n_u32::<12>(kept(3)));
            vaddvq_u32(vorrq_u32(low, high)) as u16
        }
    }
}

impl<const DOTPROD: bool, const I8MM: bool> DoubleLanes for FourRegisters<DOTPROD, I8MM> {
    type F64 = Doubles;

    #[inline(always)]
    fn widen(self, a: Floats) -> Doubles {
        // SAFETY: `self` proves the features.
        let low = |four| unsafe { vcvt_f64_f32(vget_low_f32(four)) };
        // SAFETY: `self` proves the features.
        let high = |four| unsafe { vcvt_high_f64_f32(four) };
        from_fn(|pair| if pair.is_multiple_of(2) { low(a[pair / 2]) } else { high(a[pair / 2]) })
    }

    #[inline(always)]
    fn add_product(self, a: Doubles, b: Doubles, c: Doubles) -> Doubles {
        // SAFETY: `self` proves the features.
        from_fn(|pair| unsafe { vfmaq_f64(c[pair], a[pair], b[pair]) })
    }

    #[inline(always)]
    fn to_array_f64(self, a: Doubles) -> [f64; LANES] {
        let mut lanes = [0.0; LANES];
        for (two, lanes) in a.into_iter().zip(lanes.as_chunks_mut::<2>().0) {
            // SAFETY: `self` proves the features; two values are stored to an array of two.
            unsafe { vst1q_f64(lanes.as_mut_ptr(), two) };
        }
        lanes
    }
}

impl<const DOTPROD: bool, const I8MM: bool> ByteLanes for FourRegisters<DOTPROD, I8MM> {
    type I32 = Integers;

    on_each_register! {
        add_i32(a: Integers, b: Integers) -> Integers = vaddq_s32(a, b);
        abs_i8(a: Integers) -> Integers = vreinterpretq_s32_s8(vabsq_s8(vreinterpretq_s8_s32(a)));
        to_f32(a: Integers) -> Floats = vcvtq_f32_s32(a);
        dot(sums: Integers, a: Integers, b: Integers) -> Integers = {
            let (a, b) = (vreinterpretq_u8_s32(a), vreinterpretq_s8_s32(b));
            if I8MM {
                usdot(sums, a, b)
            } else if DOTPROD {
                // a b = (a - 128) b + 128 b
                let signed = vreinterpretq_s8_u8(veorq_u8(a, vdupq_n_u8(0x80)));
                vsubq_s32(sdot(sums, signed, b), sdot(vdupq_n_s32(0), vdupq_n_s8(-128), b))
            } else {
                widened_dot(sums, a, b)
            }
        };
    }

    #[inline(always)]
    fn splat_i32(self, value: i32) -> Integers {
        // SAFETY: `self` proves the features.
        [unsafe { vdupq_n_s32(value) }; REGISTERS]
    }

    #[inline(always)]
    unsafe fn load_i32(self, from: *const i32) -> Integers {
        // SAFETY: `self` proves the features; the caller guarantees 64 bytes, four times sixteen.
        from_fn(|register| unsafe { vreinterpretq_s32_u8(vld1q_u8(from.add(WIDTH * register).cast())) })
    }

    #[inline(always)]
    unsafe fn store_i8(self, to: *mut i8, a: Floats) {
        // SAFETY: `self` proves the features; the caller guarantees sixteen bytes.
        unsafe {
            let [a, b, c, d] = a.map(|four| vmovn_s32(vcvtnq_s32_f32(four)));
            let (low, high) = (vmovn_s16(vcombine_s16(a, b)), vmovn_s16(vcombine_s16(c, d)));
            vst1q_s8(to, vcombine_s8(low, high));
        }
    }

    #[inline(always)]
    fn to_array_i32(self, a: Integers) -> [i32; LANES] {
        let mut lanes = [0; LANES];
        for (four, lanes) in a.into_iter().zip(lanes.as_chunks_mut::<WIDTH>().0) {
            // SAFETY: `self` proves the features; four values are stored to an array of four.
            unsafe { vst1q_s32(lanes.as_mut_ptr(), four) };
        }
        lanes
    }
}

impl<const DOTPROD: bool, const I8MM: bool> PairLanes for FourRegisters<DOTPROD, I8MM> {
    on_each_register! {
        dot_pairs(sums: Floats, a: Integers, b: Integers) -> Floats = {
            let first = |pair| vreinterpretq_f32_s32(vshlq_n_s32::<16>(pair));
            let second = |pair| vreinterpretq_f32_s32(vandq_s32(pair, vdupq_n_s32(0xffff_0000_u32 as i32)));
            vfmaq_f32(vfmaq_f32(sums, second(a), second(b)), first(a), first(b))
        };
    }

    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut bf16, a: Floats) {
        for (register, four) in a.into_iter().enumerate() {
            // SAFETY: `self` proves the features; the caller guarantees sixteen values, four times four.
            unsafe {
                let small = vcaltq_f32(four, vdupq_n_f32(SMALLEST_IN_PAIRS));
                let bits = vbicq_u32(vreinterpretq_u32_f32(four), small);
                let odd = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
                let rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
                let number = vceqq_f32(four, four);
                let kept = vbslq_u32(number, rounded, vdupq_n_u32((BF16_NAN as u32) << 16));
                vst1_u16(to.add(WIDTH * register).cast(), vshrn_n_u32::<16>(kept));
            }
        }
    }
}

/// Adds to each lane of `sums` the inner product of its four bytes of `a` and of `b`. (The intrinsics of byte
/// products are not stable: rust-lang/rust#117223 and #117224.)
#[inline]
#[target_feature(enable = "i8mm")]
fn usdot(mut sums: int32x4_t, a: uint8x16_t, b: int8x16_t) -> int32x4_t {
    // SAFETY: an instruction of the feature, on registers only.
    unsafe {
        asm!("usdot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) sums, in(vreg) a, in(vreg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    sums
}

/// [`usdot`] of signed bytes.
#[inline]
#[target_feature(enable = "dotprod")]
fn sdot(mut sums: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    // SAFETY: an instruction of the feature, on registers only.
    unsafe {
        asm!("sdot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) sums, in(vreg) a, in(vreg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    sums
}

/// [`usdot`] without the instruction: bytes widened to sixteen bits, and neighbouring products added.
#[inline]
#[target_feature(enable = "neon")]
fn widened_dot(sums: int32x4_t, a: uint8x16_t, b: int8x16_t) -> int32x4_t {
    let products = |a: int16x8_t, b: int16x8_t| {
        vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b))
    };
    let low = products(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(a))), vmovl_s8(vget_low_s8(b)));
    let high = products(vreinterpretq_s16_u16(vmovl_high_u8(a)), vmovl_high_s8(b));
    vaddq_s32(sums, vpaddq_s32(low, high))
}
