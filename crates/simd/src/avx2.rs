//! AVX2 with FMA: sixteen lanes are two registers.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::lanes::{BF16_NAN, ByteLanes, DoubleLanes, Lanes, PairLanes, SMALLEST_IN_PAIRS};
use super::{Kernel, LANES, Simd};

instruction_set! {
    /// AVX2, FMA and F16C.
    Avx2 = TwoRegisters<false>: "avx2", "fma", "f16c", "popcnt", "bmi1", "bmi2"
}

instruction_set! {
    /// [`Avx2`] with AVX-VNNI.
    Avx2Vnni = TwoRegisters<true>: "avx2", "fma", "f16c", "popcnt", "bmi1", "bmi2", "avxvnni"
}

/// A CPU with AVX2, FMA, F16C, POPCNT and BMI; with `VNNI`, also AVX-VNNI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwoRegisters<const VNNI: bool>(());

/// Lanes 0..8 and 8..16.
type Floats = [__m256; 2];
/// Lanes 0..8 and 8..16.
type Integers = [__m256i; 2];
/// Four lanes each.
type Doubles = [__m256d; 4];

/// Methods that are the same instruction on both registers.
macro_rules! on_both_registers {
    ($($name:ident($($operand:ident: $type:ty),+) -> $result:ty = $instruction:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($operand: $type),+) -> $result {
            // SAFETY: `self` proves the features.
            unsafe { [$instruction($($operand[0]),+), $instruction($($operand[1]),+)] }
        }
    )+};
}

impl<const VNNI: bool> Lanes for TwoRegisters<VNNI> {
    type F32 = Floats;

    // 6 x 2 accumulators, 2 registers of weights and a broadcast: 15 of 16 registers.
    const TILE_ROWS: usize = 6;
    const TILE_VECTORS: usize = 1;

    on_both_registers! {
        add(a: Floats, b: Floats) -> Floats = _mm256_add_ps;
        sub(a: Floats, b: Floats) -> Floats = _mm256_sub_ps;
        mul(a: Floats, b: Floats) -> Floats = _mm256_mul_ps;
        div(a: Floats, b: Floats) -> Floats = _mm256_div_ps;
        fma(a: Floats, b: Floats, c: Floats) -> Floats = _mm256_fmadd_ps;
        max(a: Floats, b: Floats) -> Floats = _mm256_max_ps;
        min(a: Floats, b: Floats) -> Floats = _mm256_min_ps;
        round(a: Floats) -> Floats = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>;
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Floats {
        // SAFETY: `self` proves the features.
        [unsafe { _mm256_set1_ps(value) }; 2]
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Floats {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values.
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: Floats) {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values.
        unsafe {
            _mm256_storeu_ps(to, value[0]);
            _mm256_storeu_ps(to.add(8), value[1]);
        }
    }

    #[inline(always)]
    unsafe fn load_f16(self, from: *const f16) -> Floats {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, twice 16 bytes.
        [0, 8].map(|lane| unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.add(lane).cast())) })
    }

    #[inline(always)]
    unsafe fn load_bf16(self, from: *const bf16) -> Floats {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, twice 16 bytes.
        [0, 8].map(|lane| unsafe {
            let bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.add(lane).cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
        })
    }

    #[inline(always)]
    fn round_f16(self, a: Floats) -> Floats {
        // SAFETY: `self` proves the features.
        a.map(|half| unsafe { _mm256_cvtph_ps(_mm256_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT }>(half)) })
    }

    #[inline(always)]
    fn exp2_integral(self, a: Floats) -> Floats {
        // SAFETY: `self` proves the features.
        a.map(|half| unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(half), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
        })
    }

    #[inline(always)]
    fn not_less(self, a: Floats, b: Floats) -> u16 {
        let mask = |half: usize| {
            // SAFETY: `self` proves the features.
            unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NLT_UQ>(a[half], b[half])) as u16 }
        };
        mask(0) | mask(1) << 8
    }
}

impl<const VNNI: bool> DoubleLanes for TwoRegisters<VNNI> {
    type F64 = Doubles;

    #[inline(always)]
    fn widen(self, a: Floats) -> Doubles {
        // SAFETY: `self` proves the features.
        let low = |half| unsafe { _mm256_cvtps_pd(_mm256_castps256_ps128(half)) };
        // SAFETY: `self` proves the features.
        let high = |half| unsafe { _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(half)) };
        [low(a[0]), high(a[0]), low(a[1]), high(a[1])]
    }

    #[inline(always)]
    fn add_product(self, a: Doubles, b: Doubles, c: Doubles) -> Doubles {
        let part = |i: usize| {
            // SAFETY: `self` proves the features.
            unsafe { _mm256_fmadd_pd(a[i], b[i], c[i]) }
        };
        [part(0), part(1), part(2), part(3)]
    }

    #[inline(always)]
    fn to_array_f64(self, a: Doubles) -> [f64; LANES] {
        let mut lanes = [0.0; LANES];
        for (i, part) in a.into_iter().enumerate() {
            // SAFETY: `self` proves the features; `lanes` holds four times four values.
            unsafe { _mm256_storeu_pd(lanes.as_mut_ptr().add(4 * i), part) };
        }
        lanes
    }
}

impl<const VNNI: bool> ByteLanes for TwoRegisters<VNNI> {
    type I32 = Integers;

    on_both_registers! {
        add_i32(a: Integers, b: Integers) -> Integers = _mm256_add_epi32;
        abs_i8(a: Integers) -> Integers = _mm256_abs_epi8;
        to_f32(a: Integers) -> Floats = _mm256_cvtepi32_ps;
    }

    #[inline(always)]
    fn splat_i32(self, value: i32) -> Integers {
        // SAFETY: `self` proves the features.
        [unsafe { _mm256_set1_epi32(value) }; 2]
    }

    #[inline(always)]
    unsafe fn load_i32(self, from: *const i32) -> Integers {
        // SAFETY: `self` proves the features; the caller guarantees 64 bytes.
        unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(8).cast())] }
    }

    #[inline(always)]
    unsafe fn store_i8(self, to: *mut i8, a: Floats) {
        // SAFETY: `self` proves the features; the caller guarantees sixteen bytes.
        unsafe {
            let words = _mm256_packs_epi32(_mm256_cvtps_epi32(a[0]), _mm256_cvtps_epi32(a[1]));
            // The packs work on each half of the register: put its quarters in order.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
            let bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(to.cast(), bytes);
        }
    }

    #[inline(always)]
    fn to_array_i32(self, a: Integers) -> [i32; LANES] {
        let mut lanes = [0_i32; LANES];
        // SAFETY: `self` proves the features; `lanes` holds twice eight values.
        unsafe {
            _mm256_storeu_si256(lanes.as_mut_ptr().cast(), a[0]);
            _mm256_storeu_si256(lanes.as_mut_ptr().add(8).cast(), a[1]);
        }
        lanes
    }

    #[inline(always)]
    fn dot(self, sums: Integers, a: Integers, b: Integers) -> Integers {
        let dot = |sums, a, b| {
            // SAFETY: `self` proves the features.
            unsafe {
                if VNNI {
                    return _mm256_dpbusd_avx_epi32(sums, a, b);
                }
                // Bytes widened to sixteen bits, even and odd ones apart.
                let low = _mm256_set1_epi16(0xff);
                let even = _mm256_madd_epi16(
                    _mm256_and_si256(a, low),
                    _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(b)),
                );
                let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(a), _mm256_srai_epi16::<8>(b));
                _mm256_add_epi32(sums, _mm256_add_epi32(even, odd))
            }
        };
        [dot(sums[0], a[0], b[0]), dot(sums[1], a[1], b[1])]
    }
}

impl<const VNNI: bool> PairLanes for TwoRegisters<VNNI> {
    #[inline(always)]
    fn dot_pairs(self, sums: Floats, a: Integers, b: Integers) -> Floats {
        let dot = |sums, a, b| {
            // SAFETY: `self` proves the features.
            unsafe {
                let first = |pair| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(pair));
                let second = |pair| {
                    _mm256_castsi256_ps(_mm256_and_si256(pair, _mm256_set1_epi32(0xffff_0000_u32 as i32)))
                };
                _mm256_fmadd_ps(first(a), first(b), _mm256_fmadd_ps(second(a), second(b), sums))
            }
        };
        [dot(sums[0], a[0], b[0]), dot(sums[1], a[1], b[1])]
    }

    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut bf16, a: Floats) {
        // SAFETY: `self` proves the features.
        let [low, high] = a.map(|a| unsafe {
            let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), a);
            let kept = _mm256_cmp_ps::<_CMP_NLT_UQ>(size, _mm256_set1_ps(SMALLEST_IN_PAIRS));
            let bits = _mm256_castps_si256(_mm256_and_ps(a, kept));
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
            let rounded = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, half));
            let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(a, a));
            _mm256_blendv_epi8(rounded, _mm256_set1_epi32(BF16_NAN), nan)
        });
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, 32 bytes.
        unsafe {
            let words = _mm256_packus_epi32(low, high);
            // The packs work on each half of the register: put its quarters in order.
            _mm256_storeu_si256(to.cast(), _mm256_permute4x64_epi64::<0b11_01_10_00>(words));
        }
    }
}
