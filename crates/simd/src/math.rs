//! Elementary functions over sixteen lanes, as polynomials in fused multiply-adds: the same bits on
//! every instruction set. The coefficients are minimax fits, made in f64 and rounded to f32.

use super::Lanes;

/// Evaluates a polynomial, lowest coefficient first, by Horner's rule.
#[inline(always)]
fn polynomial<S: Lanes>(simd: S, coefficients: &[f32], x: S::F32) -> S::F32 {
    let mut descending = coefficients.iter().rev();
    let mut value = simd.splat(descending.next().copied().unwrap_or(0.0));
    for &coefficient in descending {
        value = simd.fma(value, x, simd.splat(coefficient));
    }
    value
}

/// `x`, at least `low` and at most `high`. NaN, the second operand, stays NaN: what overflowed does not pass
/// as finite.
#[inline(always)]
fn clamp<S: Lanes>(simd: S, x: S::F32, low: f32, high: f32) -> S::F32 {
    simd.min(simd.splat(high), simd.max(simd.splat(low), x))
}

/// The natural exponential, relative error below 2e-7. Arguments are clamped to -87.3..=88.0, so the
/// result is never zero, subnormal or infinite.
#[inline(always)]
pub fn exp<S: Lanes>(simd: S, x: S::F32) -> S::F32 {
    // exp(r) = 1 + r + r^2 p(r) on |r| <= ln(2)/2; the fit's relative error is 3e-9.
    const P: [f32; 5] = [0.499_999_94, 0.166_665_21, 0.041_668_39, 0.008_368_71, 0.001_381_461_3];
    // ln(2) in two parts, the first with trailing zeros so that n * LN2_HIGH is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;

    let x = clamp(simd, x, -87.3, 88.0);
    let n = simd.round(simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    let r = simd.fma(n, simd.splat(-LN2_HIGH), x);
    let r = simd.fma(n, simd.splat(-LN2_LOW), r);
    let p = polynomial(simd, &P, r);
    let one_plus = simd.add(simd.splat(1.0), simd.fma(simd.mul(r, r), p, r));
    simd.times_exp2(one_plus, n)
}

/// 2 to the power of `x`, relative error below 1e-4: for results that are rounded to bf16, whose is 2e-3.
/// Arguments are below 127 and clamped to -126 at least, so the result is never zero or subnormal.
#[inline(always)]
pub fn exp2_coarse<S: Lanes>(simd: S, x: S::F32) -> S::F32 {
    // 2^f on |f| <= 1/2.
    const P: [f32; 4] = [0.999_928_06, 0.693_260_97, 0.242_611_13, 0.055_171_657];
    let x = simd.max(simd.splat(-126.0), x);
    let n = simd.round(x);
    simd.times_exp2(polynomial(simd, &P, simd.sub(x, n)), n)
}

/// The error function, absolute error below 4e-7.
#[inline(always)]
pub(crate) fn erf<S: Lanes>(simd: S, x: S::F32) -> S::F32 {
    // erf(x) = x P(x^2) / Q(x^2) on |x| <= 3.92, 1 to within 3e-8 beyond; the fit's relative error is 2e-9.
    const LIMIT: f32 = 3.92;
    #[expect(clippy::approx_constant, reason = "a coefficient of the fit, whatever it is near")]
    const P: [f32; 7] = [
        1.128_379_2, 0.185_135_22, 0.054_244, 0.003_838_623_2, 3.767_600_6e-4, 4.609_265e-6, -1.279_995_3e-8,
    ];
    const Q: [f32; 6] = [1.0, 0.497_405_23, 0.113_873_76, 0.015_430_053, 0.001_301_526_4, 6.239_947e-5];

    let x = clamp(simd, x, -LIMIT, LIMIT);
    let square = simd.mul(x, x);
    simd.div(simd.mul(x, polynomial(simd, &P, square)), polynomial(simd, &Q, square))
}

/// GELU by the error function (Hendrycks and Gimpel 2016, section 2): x/2 (1 + erf(x/sqrt(2))).
#[inline(always)]
pub fn gelu<S: Lanes>(simd: S, x: S::F32) -> S::F32 {
    let half = simd.mul(x, simd.splat(0.5));
    simd.fma(half, erf(simd, simd.mul(x, simd.splat(std::f32::consts::FRAC_1_SQRT_2))), half)
}

/// The derivative of [`gelu`], Phi(x) + x phi(x), absolute error below 1e-6.
#[inline(always)]
pub fn gelu_derivative<S: Lanes>(simd: S, x: S::F32) -> S::F32 {
    // 1/sqrt(2 pi)
    const DENSITY: f32 = 0.398_942_3;
    let half = simd.splat(0.5);
    let below = simd.fma(half, erf(simd, simd.mul(x, simd.splat(std::f32::consts::FRAC_1_SQRT_2))), half);
    let bell = exp(simd, simd.mul(simd.mul(x, x), simd.splat(-0.5)));
    simd.fma(simd.mul(x, simd.splat(DENSITY)), bell, below)
}

/// The hyperbolic tangent, absolute error below 3e-7.
#[inline(always)]
pub fn tanh<S: Lanes>(simd: S, x: S::F32) -> S::F32 {
    // tanh(x) = 1 - 2 / (exp(2x) + 1)
    let one = simd.splat(1.0);
    let two = simd.splat(2.0);
    let e = exp(simd, simd.mul(two, x));
    simd.sub(one, simd.div(two, simd.add(e, one)))
}

/// 1 / (1 + exp(-x)), absolute error below 2e-7.
#[inline(always)]
pub fn sigmoid<S: Lanes>(simd: S, x: S::F32) -> S::F32 {
    let one = simd.splat(1.0);
    simd.div(one, simd.add(one, exp(simd, simd.sub(simd.splat(0.0), x))))
}

/// GELU by the hyperbolic tangent (Hendrycks and Gimpel 2016, section 2).
#[inline(always)]
pub fn gelu_tanh<S: Lanes>(simd: S, x: S::F32) -> S::F32 {
    // sqrt(2/pi)
    const SCALE: f32 = 0.797_884_6;
    let cube = simd.mul(simd.mul(x, x), x);
    let inner = simd.mul(simd.splat(SCALE), simd.fma(cube, simd.splat(0.044_715), x));
    let half = simd.mul(x, simd.splat(0.5));
    simd.fma(half, tanh(simd, inner), half)
}
