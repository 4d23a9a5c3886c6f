//! AVX-512: sixteen lanes are one register.

use std::arch::x86_64::{
    __m256bh, __m256i, __m512, __m512bh, __m512d, __m512i, _CMP_NLT_UQ, _CMP_UNORD_Q, _MM_FROUND_NO_EXC,
    _MM_FROUND_TO_NEAREST_INT, _mm_storeu_si128, _mm256_loadu_si256, _mm256_storeu_si256, _mm512_abs_epi8,
    _mm512_abs_ps, _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512, _mm512_castps_si512,
    _mm512_castps512_ps256, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cvtepi32_epi8,
    _mm512_cvtepi32_epi16, _mm512_cvtepi32_ps, _mm512_cvtepu16_epi32, _mm512_cvtneps_pbh, _mm512_cvtph_ps,
    _mm512_cvtps_epi32, _mm512_cvtps_pd, _mm512_cvtps_ph, _mm512_div_ps, _mm512_dpbf16_ps,
    _mm512_dpbusd_epi32, _mm512_extractf32x8_ps, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_madd_epi16, _mm512_mask_mov_epi32, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_maskz_mov_ps, _mm512_max_ps, _mm512_min_ps, _mm512_mul_ps,
    _mm512_roundscale_ps, _mm512_scalef_ps, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_ps,
    _mm512_slli_epi16, _mm512_slli_epi32, _mm512_srai_epi16, _mm512_srli_epi16, _mm512_srli_epi32,
    _mm512_storeu_pd, _mm512_storeu_ps, _mm512_storeu_si512, _mm512_sub_ps,
};
use std::mem::transmute;

use half::{bf16, f16};

use super::{BF16_NAN, Kernel, LANES, SMALLEST_IN_PAIRS, Simd};

/// A CPU with AVX-512 F, BW, DQ and VL; with `VNNI` or `BF16`, also that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512<const VNNI: bool = false, const BF16: bool = false>(());

impl<const VNNI: bool, const BF16: bool> Avx512<VNNI, BF16> {
    pub(crate) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && (!VNNI || is_x86_feature_detected!("avx512vnni"))
            && (!BF16 || is_x86_feature_detected!("avx512bf16")))
        .then_some(Self(()))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,popcnt,bmi1,bmi2")]
fn with_features<K: Kernel>(simd: Avx512, kernel: K) -> K::Output {
    kernel.run(simd)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,popcnt,bmi1,bmi2,avx512vnni")]
fn with_vnni<K: Kernel>(simd: Avx512<true>, kernel: K) -> K::Output {
    kernel.run(simd)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,popcnt,bmi1,bmi2,avx512bf16")]
fn with_bf16<K: Kernel>(simd: Avx512<false, true>, kernel: K) -> K::Output {
    kernel.run(simd)
}

/// The mask of the first `count` lanes.
#[inline(always)]
fn first(count: usize) -> u16 {
    debug_assert!(count <= LANES);
    ((1_u32 << count) - 1) as u16
}

// SAFETY of every block below: an `Avx512` exists only where `new` found the features.
impl<const VNNI: bool, const BF16: bool> Simd for Avx512<VNNI, BF16> {
    type F32 = __m512;
    /// Lanes 0..8 and 8..16.
    type F64 = [__m512d; 2];
    type I32 = __m512i;

    // 12 x 2 accumulators, 2 columns of weights and a broadcast: 27 of 32 registers.
    const TILE_ROWS: usize = 12;
    const TILE_VECTORS: usize = 2;

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: see above.
        unsafe {
            match (VNNI, BF16) {
                (true, _) => with_vnni(Avx512(()), kernel),
                (false, true) => with_bf16(Avx512(()), kernel),
                (false, false) => with_features(Avx512(()), kernel),
            }
        }
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> __m512 {
        // SAFETY: see above; the caller vouches for the pointer.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: __m512) {
        // SAFETY: see above; the caller vouches for the pointer.
        unsafe { _mm512_storeu_ps(to, value) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn round(self, a: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }

    #[inline(always)]
    fn exp2_integral(self, a: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe {
            let exponent: __m512i = _mm512_add_epi32(_mm512_cvtps_epi32(a), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent))
        }
    }

    #[inline(always)]
    fn times_exp2(self, a: __m512, n: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_scalef_ps(a, n) }
    }

    #[inline(always)]
    fn to_array(self, a: __m512) -> [f32; LANES] {
        let mut lanes = [0.0; LANES];
        // SAFETY: see above; `lanes` holds sixteen values.
        unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), a) };
        lanes
    }

    #[inline(always)]
    fn not_less(self, a: __m512, b: __m512) -> u16 {
        // SAFETY: see above.
        unsafe { _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(a, b) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, from: *const f16) -> __m512 {
        // SAFETY: see above; the caller vouches for sixteen values, 32 bytes.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast::<__m256i>())) }
    }

    #[inline(always)]
    unsafe fn load_bf16(self, from: *const bf16) -> __m512 {
        // SAFETY: see above; the caller vouches for sixteen values, 32 bytes.
        unsafe {
            let bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast::<__m256i>()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits))
        }
    }

    #[inline(always)]
    fn round_f16(self, a: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_cvtph_ps(_mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a)) }
    }

    #[inline(always)]
    fn widen(self, a: __m512) -> [__m512d; 2] {
        // SAFETY: see above.
        unsafe {
            [_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(a))]
        }
    }

    #[inline(always)]
    fn add_product(self, a: [__m512d; 2], b: [__m512d; 2], c: [__m512d; 2]) -> [__m512d; 2] {
        // SAFETY: see above.
        unsafe { [_mm512_fmadd_pd(a[0], b[0], c[0]), _mm512_fmadd_pd(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    fn to_array_f64(self, a: [__m512d; 2]) -> [f64; LANES] {
        let mut lanes = [0.0; LANES];
        // SAFETY: see above; `lanes` holds twice eight values.
        unsafe {
            _mm512_storeu_pd(lanes.as_mut_ptr(), a[0]);
            _mm512_storeu_pd(lanes.as_mut_ptr().add(8), a[1]);
        }
        lanes
    }

    #[inline(always)]
    fn splat_i32(self, value: i32) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_set1_epi32(value) }
    }

    #[inline(always)]
    unsafe fn load_i32(self, from: *const i32) -> __m512i {
        // SAFETY: see above; the caller vouches for the pointer.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    fn dot(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see above.
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

    #[inline(always)]
    fn add_i32(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_add_epi32(a, b) }
    }

    #[inline(always)]
    fn abs_i8(self, a: __m512i) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_abs_epi8(a) }
    }

    #[inline(always)]
    fn to_f32(self, a: __m512i) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_cvtepi32_ps(a) }
    }

    #[inline(always)]
    fn to_array_i32(self, a: __m512i) -> [i32; LANES] {
        let mut lanes = [0; LANES];
        // SAFETY: see above; `lanes` holds sixteen values.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), a) };
        lanes
    }

    #[inline(always)]
    unsafe fn store_i8(self, to: *mut i8, a: __m512) {
        // SAFETY: see above; the caller vouches for sixteen bytes.
        unsafe { _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a))) }
    }

    #[inline(always)]
    fn dot_pairs(self, sums: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: see above; a pair of bf16 is four bytes, in lanes of any type.
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
        // SAFETY: see above; the caller vouches for sixteen values, 32 bytes.
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

    #[inline(always)]
    unsafe fn load_part(self, from: *const f32, count: usize) -> __m512 {
        // SAFETY: see above; masked lanes are not read, the caller vouches for the others.
        unsafe { _mm512_maskz_loadu_ps(first(count), from) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, value: __m512, count: usize) {
        // SAFETY: see above; masked lanes are not written, the caller vouches for the others.
        unsafe { _mm512_mask_storeu_ps(to, first(count), value) }
    }
}
