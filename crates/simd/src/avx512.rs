//! AVX-512: sixteen lanes are one register.

use std::arch::x86_64::*;
use std::mem::transmute;

use half::{bf16, f16};

use super::lanes::{BF16_NAN, ByteLanes, DoubleLanes, Lanes, PairLanes, SMALLEST_IN_PAIRS};
use super::{Kernel, LANES, Simd};

instruction_set! {
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = OneRegister<false, false>: "avx512f", "avx512bw", "avx512dq", "avx512vl", "fma", "f16c", "popcnt", "bmi1", "bmi2"
}

instruction_set! {
    /// [`Avx512`] with VNNI.
    Avx512Vnni = OneRegister<true, false>:
        "avx512f", "avx512bw", "avx512dq", "avx512vl", "fma", "f16c", "popcnt", "bmi1", "bmi2", "avx512vnni"
}

instruction_set! {
    /// [`Avx512`] with BF16.
    Avx512Bf16 = OneRegister<false, true>:
        "avx512f", "avx512bw", "avx512dq", "avx512vl", "fma", "f16c", "popcnt", "bmi1", "bmi2", "avx512bf16"
}

/// A CPU with AVX-512 F, BW, DQ and VL; with `VNNI` or `BF16`, also that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneRegister<const VNNI: bool, const BF16: bool>(());

/// Ties to even, without exceptions.
const TO_NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// The mask of the first `count` lanes.
#[inline(always)]
fn first(count: usize) -> u16 {
    debug_assert!(count <= LANES);
    ((1_u32 << count) - 1) as u16
}

/// Methods that are one instruction.
macro_rules! one_instruction {
    ($($name:ident($($operand:ident: $type:ty),+) -> $result:ty = $instruction:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($operand: $type),+) -> $result {
            // SAFETY: `self` proves the features.
            unsafe { $instruction($($operand),+) }
        }
    )+};
}

impl<const VNNI: bool, const BF16: bool> Lanes for OneRegister<VNNI, BF16> {
    type F32 = __m512;

    // 12 x 2 accumulators, 2 columns of weights and a broadcast: 27 of 32 registers.
    const TILE_ROWS: usize = 12;
    const TILE_VECTORS: usize = 2;

    one_instruction! {
        splat(value: f32) -> __m512 = _mm512_set1_ps;
        add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps;
        sub(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps;
        mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps;
        div(a: __m512, b: __m512) -> __m512 = _mm512_div_ps;
        fma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps;
        max(a: __m512, b: __m512) -> __m512 = _mm512_max_ps;
        min(a: __m512, b: __m512) -> __m512 = _mm512_min_ps;
        round(a: __m512) -> __m512 = _mm512_roundscale_ps::<TO_NEAREST>;
        times_exp2(a: __m512, n: __m512) -> __m512 = _mm512_scalef_ps;
        not_less(a: __m512, b: __m512) -> u16 = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>;
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> __m512 {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: __m512) {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values.
        unsafe { _mm512_storeu_ps(to, value) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, from: *const f16) -> __m512 {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, 32 bytes.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_bf16(self, from: *const bf16) -> __m512 {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, 32 bytes.
        unsafe {
            let bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits))
        }
    }

    #[inline(always)]
    fn round_f16(self, a: __m512) -> __m512 {
        // SAFETY: `self` proves the features.
        unsafe { _mm512_cvtph_ps(_mm512_cvtps_ph::<TO_NEAREST>(a)) }
    }

    #[inline(always)]
    fn exp2_integral(self, a: __m512) -> __m512 {
        // SAFETY: `self` proves the features.
        unsafe {
            let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(a), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent))
        }
    }

    #[inline(always)]
    unsafe fn load_part(self, from: *const f32, count: usize) -> __m512 {
        // SAFETY: `self` proves the features; masked lanes are not read, the caller keeps the contract for
        // the others.
        unsafe { _mm512_maskz_loadu_ps(first(count), from) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, value: __m512, count: usize) {
        // SAFETY: `self` proves the features; masked lanes are not written, and the others may be.
        unsafe { _mm512_mask_storeu_ps(to, first(count), value) }
    }
}

impl<const VNNI: bool, const BF16: bool> DoubleLanes for OneRegister<VNNI, BF16> {
    /// Lanes 0..8 and 8..16.
    type F64 = [__m512d; 2];

    #[inline(always)]
    fn widen(self, a: __m512) -> [__m512d; 2] {
        // SAFETY: `self` proves the features.
        unsafe {
            [_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(a))]
        }
    }

    #[inline(always)]
    fn add_product(self, a: [__m512d; 2], b: [__m512d; 2], c: [__m512d; 2]) -> [__m512d; 2] {
        // SAFETY: `self` proves the features.
        unsafe { [_mm512_fmadd_pd(a[0], b[0], c[0]), _mm512_fmadd_pd(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    fn to_array_f64(self, a: [__m512d; 2]) -> [f64; LANES] {
        let mut lanes = [0.0; LANES];
        // SAFETY: `self` proves the features; `lanes` holds twice eight values.
        unsafe {
            _mm512_storeu_pd(lanes.as_mut_ptr(), a[0]);
            _mm512_storeu_pd(lanes.as_mut_ptr().add(8), a[1]);
        }
        lanes
    }
}

impl<const VNNI: bool, const BF16: bool> ByteLanes for OneRegister<VNNI, BF16> {
    type I32 = __m512i;

    one_instruction! {
        splat_i32(value: i32) -> __m512i = _mm512_set1_epi32;
        add_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32;
        abs_i8(a: __m512i) -> __m512i = _mm512_abs_epi8;
        to_f32(a: __m512i) -> __m512 = _mm512_cvtepi32_ps;
    }

    #[inline(always)]
    unsafe fn load_i32(self, from: *const i32) -> __m512i {
        // SAFETY: `self` proves the features; the caller guarantees 64 bytes.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store_i8(self, to: *mut i8, a: __m512) {
        // SAFETY: `self` proves the features; the caller guarantees sixteen bytes.
        unsafe { _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a))) }
    }

    #[inline(always)]
    fn to_array_i32(self, a: __m512i) -> [i32; LANES] {
        let mut lanes = [0; LANES];
        // SAFETY: `self` proves the features; `lanes` holds sixteen values.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), a) };
        lanes
    }

    #[inline(always)]
    fn dot(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` proves the features.
        unsafe {
            if VNNI {
                return _mm512_dpbusd_epi32(sums, a, b);
            }
            // Bytes widened to sixteen bits, even and odd ones apart.
            let low = _mm512_set1_epi16(0xff);
            let even = _mm512_madd_epi16(
                _mm512_and_si512(a, low),
                _mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(b)),
            );
            let odd = _mm512_madd_epi16(_mm512_srli_epi16::<8>(a), _mm512_srai_epi16::<8>(b));
            _mm512_add_epi32(sums, _mm512_add_epi32(even, odd))
        }
    }
}

impl<const VNNI: bool, const BF16: bool> PairLanes for OneRegister<VNNI, BF16> {
    #[inline(always)]
    fn dot_pairs(self, sums: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: `self` proves the features; a pair of bf16 is four bytes, in lanes of any type.
        unsafe {
            if BF16 {
                let (a, b) = (transmute::<__m512i, __m512bh>(a), transmute::<__m512i, __m512bh>(b));
                return _mm512_dpbf16_ps(sums, a, b);
            }
            let first = |pair| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(pair));
            let second =
                |pair| _mm512_castsi512_ps(_mm512_and_si512(pair, _mm512_set1_epi32(0xffff_0000_u32 as i32)));
            _mm512_fmadd_ps(first(a), first(b), _mm512_fmadd_ps(second(a), second(b), sums))
        }
    }

    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut bf16, a: __m512) {
        // SAFETY: `self` proves the features; the caller guarantees sixteen values, 32 bytes.
        unsafe {
            let kept = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(_mm512_abs_ps(a), _mm512_set1_ps(SMALLEST_IN_PAIRS));
            let a = _mm512_maskz_mov_ps(kept, a);
            let rounded = if BF16 {
                transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(a))
            } else {
                let bits = _mm512_castps_si512(a);
                let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
                let half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
                let rounded = _mm512_srli_epi32::<16>(_mm512_add_epi32(bits, half));
                let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a);
                let rounded = _mm512_mask_mov_epi32(rounded, nan, _mm512_set1_epi32(BF16_NAN));
                _mm512_cvtepi32_epi16(rounded)
            };
            _mm256_storeu_si256(to.cast(), rounded);
        }
    }
}
