//! AVX2 with FMA: sixteen lanes are two registers.

use std::arch::x86_64::{
    __m128i, __m256, __m256d, __m256i, _CMP_NLT_UQ, _CMP_UNORD_Q, _MM_FROUND_NO_EXC,
    _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_packs_epi16, _mm_storeu_si128, _mm256_abs_epi8,
    _mm256_add_epi32, _mm256_add_ps, _mm256_and_ps, _mm256_and_si256, _mm256_andnot_ps, _mm256_blendv_epi8,
    _mm256_castps_si256, _mm256_castps256_ps128, _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cmp_ps,
    _mm256_cvtepi32_ps, _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_cvtps_epi32, _mm256_cvtps_pd,
    _mm256_cvtps_ph, _mm256_div_ps, _mm256_dpbusd_avx_epi32, _mm256_extractf128_ps, _mm256_extracti128_si256,
    _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_max_ps,
    _mm256_min_ps, _mm256_movemask_ps, _mm256_mul_ps, _mm256_packs_epi32, _mm256_packus_epi32,
    _mm256_permute4x64_epi64, _mm256_round_ps, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_ps,
    _mm256_slli_epi16, _mm256_slli_epi32, _mm256_srai_epi16, _mm256_srli_epi16, _mm256_srli_epi32,
    _mm256_storeu_pd, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_ps,
};

use half::{bf16, f16};

use super::{BF16_NAN, Kernel, LANES, SMALLEST_IN_PAIRS, Simd};

/// A CPU with AVX2, FMA, F16C, POPCNT and BMI; with `VNNI`, also AVX-VNNI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2<const VNNI: bool>(());

impl<const VNNI: bool> Avx2<VNNI> {
    pub(crate) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && (!VNNI || is_x86_feature_detected!("avxvnni")))
        .then_some(Self(()))
    }
}

#[target_feature(enable = "avx2,fma,f16c,popcnt,bmi1,bmi2")]
fn with_features<K: Kernel>(simd: Avx2<false>, kernel: K) -> K::Output {
    kernel.run(simd)
}

#[target_feature(enable = "avx2,fma,f16c,popcnt,bmi1,bmi2,avxvnni")]
fn with_vnni<K: Kernel>(simd: Avx2<true>, kernel: K) -> K::Output {
    kernel.run(simd)
}

/// Lanes 0..8 and 8..16.
type Pair = [__m256; 2];

/// Applies an operation to both halves.
#[inline(always)]
fn both(a: Pair, b: Pair, operation: impl Fn(__m256, __m256) -> __m256) -> Pair {
    [operation(a[0], b[0]), operation(a[1], b[1])]
}

// SAFETY of every block below: an `Avx2` exists only where `new` found the features.
impl<const VNNI: bool> Simd for Avx2<VNNI> {
    type F32 = Pair;
    /// Four lanes each.
    type F64 = [__m256d; 4];
    type I32 = [__m256i; 2];

    // 6 x 2 accumulators, 2 registers of weights and a broadcast: 15 of 16 registers.
    const TILE_ROWS: usize = 6;
    const TILE_VECTORS: usize = 1;

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: see above.
        unsafe { if VNNI { with_vnni(Avx2(()), kernel) } else { with_features(Avx2(()), kernel) } }
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Pair {
        // SAFETY: see above.
        let half = unsafe { _mm256_set1_ps(value) };
        [half, half]
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Pair {
        // SAFETY: see above; the caller vouches for sixteen values.
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: Pair) {
        // SAFETY: see above; the caller vouches for sixteen values.
        unsafe {
            _mm256_storeu_ps(to, value[0]);
            _mm256_storeu_ps(to.add(8), value[1]);
        }
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see above.
        both(a, b, |x, y| unsafe { _mm256_add_ps(x, y) })
    }

    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see above.
        both(a, b, |x, y| unsafe { _mm256_sub_ps(x, y) })
    }

    #[inline(always)]
    fn mul(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see above.
        both(a, b, |x, y| unsafe { _mm256_mul_ps(x, y) })
    }

    #[inline(always)]
    fn div(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see above.
        both(a, b, |x, y| unsafe { _mm256_div_ps(x, y) })
    }

    #[inline(always)]
    fn fma(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: see above.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    fn max(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see above.
        both(a, b, |x, y| unsafe { _mm256_max_ps(x, y) })
    }

    #[inline(always)]
    fn min(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see above.
        both(a, b, |x, y| unsafe { _mm256_min_ps(x, y) })
    }

    #[inline(always)]
    fn round(self, a: Pair) -> Pair {
        // SAFETY: see above.
        a.map(|x| unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x) })
    }

    #[inline(always)]
    fn exp2_integral(self, a: Pair) -> Pair {
        // SAFETY: see above.
        a.map(|x| unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
        })
    }

    #[inline(always)]
    fn to_array(self, a: Pair) -> [f32; LANES] {
        let mut lanes = [0.0; LANES];
        // SAFETY: `lanes` holds sixteen values.
        unsafe { self.store(lanes.as_mut_ptr(), a) };
        lanes
    }

    #[inline(always)]
    fn not_less(self, a: Pair, b: Pair) -> u16 {
        // SAFETY: see above.
        let [low, high] = both(a, b, |x, y| unsafe { _mm256_cmp_ps::<_CMP_NLT_UQ>(x, y) })
            .map(|mask| unsafe { _mm256_movemask_ps(mask) } as u16);
        low | high << 8
    }

    #[inline(always)]
    unsafe fn load_f16(self, from: *const f16) -> Pair {
        // SAFETY: see above; the caller vouches for sixteen values, twice 16 bytes.
        [0, 8].map(|lane| unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.add(lane).cast::<__m128i>())) })
    }

    #[inline(always)]
    unsafe fn load_bf16(self, from: *const bf16) -> Pair {
        // SAFETY: see above; the caller vouches for sixteen values, twice 16 bytes.
        [0, 8].map(|lane| unsafe {
            let bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.add(lane).cast::<__m128i>()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
        })
    }

    #[inline(always)]
    fn round_f16(self, a: Pair) -> Pair {
        a.map(|half| {
            // SAFETY: see above.
            unsafe { _mm256_cvtph_ps(_mm256_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT }>(half)) }
        })
    }

    #[inline(always)]
    fn widen(self, a: Pair) -> [__m256d; 4] {
        let low = |x| {
            // SAFETY: see above.
            unsafe { _mm256_cvtps_pd(_mm256_castps256_ps128(x)) }
        };
        let high = |x| {
            // SAFETY: see above.
            unsafe { _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x)) }
        };
        [low(a[0]), high(a[0]), low(a[1]), high(a[1])]
    }

    #[inline(always)]
    fn add_product(self, a: [__m256d; 4], b: [__m256d; 4], c: [__m256d; 4]) -> [__m256d; 4] {
        let part = |i: usize| {
            // SAFETY: see above.
            unsafe { _mm256_fmadd_pd(a[i], b[i], c[i]) }
        };
        [part(0), part(1), part(2), part(3)]
    }

    #[inline(always)]
    fn to_array_f64(self, a: [__m256d; 4]) -> [f64; LANES] {
        let mut lanes = [0.0; LANES];
        for (i, part) in a.into_iter().enumerate() {
            // SAFETY: see above; `lanes` holds four times four values.
            unsafe { _mm256_storeu_pd(lanes.as_mut_ptr().add(4 * i), part) };
        }
        lanes
    }

    #[inline(always)]
    fn splat_i32(self, value: i32) -> [__m256i; 2] {
        // SAFETY: see above.
        let half = unsafe { _mm256_set1_epi32(value) };
        [half, half]
    }

    #[inline(always)]
    unsafe fn load_i32(self, from: *const i32) -> [__m256i; 2] {
        // SAFETY: see above; the caller vouches for 64 bytes.
        unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(8).cast())] }
    }

    #[inline(always)]
    fn dot(self, sums: [__m256i; 2], a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        let dot = |sums, a, b| {
            // SAFETY: see above.
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

    #[inline(always)]
    fn add_i32(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above.
        unsafe { [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])] }
    }

    #[inline(always)]
    fn abs_i8(self, a: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above.
        unsafe { [_mm256_abs_epi8(a[0]), _mm256_abs_epi8(a[1])] }
    }

    #[inline(always)]
    fn to_f32(self, a: [__m256i; 2]) -> Pair {
        // SAFETY: see above.
        unsafe { [_mm256_cvtepi32_ps(a[0]), _mm256_cvtepi32_ps(a[1])] }
    }

    #[inline(always)]
    fn to_array_i32(self, a: [__m256i; 2]) -> [i32; LANES] {
        let mut lanes = [0_i32; LANES];
        // SAFETY: see above; `lanes` holds twice eight values.
        unsafe {
            _mm256_storeu_si256(lanes.as_mut_ptr().cast(), a[0]);
            _mm256_storeu_si256(lanes.as_mut_ptr().add(8).cast(), a[1]);
        }
        lanes
    }

    #[inline(always)]
    unsafe fn store_i8(self, to: *mut i8, a: Pair) {
        // SAFETY: see above; the caller vouches for sixteen bytes.
        unsafe {
            let words = _mm256_packs_epi32(_mm256_cvtps_epi32(a[0]), _mm256_cvtps_epi32(a[1]));
            // The packs work on each half of the register: put its quarters in order.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
            let bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(to.cast(), bytes);
        }
    }

    #[inline(always)]
    fn dot_pairs(self, sums: Pair, a: [__m256i; 2], b: [__m256i; 2]) -> Pair {
        let dot = |sums, a, b| {
            // SAFETY: see above.
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
    unsafe fn store_bf16(self, to: *mut bf16, a: Pair) {
        let round = |a: __m256| {
            // SAFETY: see above.
            unsafe {
                let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), a);
                let kept = _mm256_cmp_ps::<_CMP_NLT_UQ>(size, _mm256_set1_ps(SMALLEST_IN_PAIRS));
                let bits = _mm256_castps_si256(_mm256_and_ps(a, kept));
                let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
                let half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
                let rounded = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, half));
                let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(a, a));
                _mm256_blendv_epi8(rounded, _mm256_set1_epi32(BF16_NAN), nan)
            }
        };
        // SAFETY: see above; the caller vouches for sixteen values, 32 bytes.
        unsafe {
            let words = _mm256_packus_epi32(round(a[0]), round(a[1]));
            // The packs work on each half of the register: put its quarters in order.
            _mm256_storeu_si256(to.cast(), _mm256_permute4x64_epi64::<0b11_01_10_00>(words));
        }
    }
}
