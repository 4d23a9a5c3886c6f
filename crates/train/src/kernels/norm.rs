//! Layer normalisation, forward and backward.

use toller_simd::product::Floats;
use toller_simd::{Kernel, LANES, Simd};

/// The sum of `f` over the pairs of two rows: sixteen lanes, folded in halves.
#[inline(always)]
pub(crate) fn sum<S: Simd>(simd: S, a: &[f32], b: &[f32], f: impl Fn(S::F32, S::F32) -> S::F32) -> f32 {
    let mut sums = simd.splat(0.0);
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        let count = a.len().min(b.len());
        // SAFETY: both chunks hold `count` values, and the array sixteen.
        unsafe {
            if count == LANES {
                sums = simd.add(sums, f(simd.load(a.as_ptr()), simd.load(b.as_ptr())));
            } else {
                let part = f(simd.load_part(a.as_ptr(), count), simd.load_part(b.as_ptr(), count));
                sums = simd.add(sums, simd.load_part(simd.to_array(part).as_ptr(), count));
            }
        }
    }
    simd.sum(sums)
}

/// Writes `(x - mean) / deviation` of each row to `normal`, its product with the weight plus the bias to
/// `out`, and 1 / deviation to `scales`.
pub(crate) struct Normalize<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) weight: &'a [f32],
    pub(crate) bias: Option<&'a [f32]>,
    pub(crate) epsilon: f32,
    pub(crate) normal: &'a mut [f32],
    pub(crate) scales: &'a mut [f32],
    pub(crate) out: &'a mut [f32],
}

impl Kernel for Normalize<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let width = self.weight.len();
        let rows = self.x.chunks_exact(width).zip(self.normal.chunks_exact_mut(width));
        for (((x, normal), out), scale) in rows.zip(self.out.chunks_exact_mut(width)).zip(self.scales) {
            let mean = sum(simd, x, x, |x, _| x) / width as f32;
            let center = simd.splat(mean);
            let square = |x, _| {
                let difference = simd.sub(x, center);
                simd.mul(difference, difference)
            };
            let variance = sum(simd, x, x, square) / width as f32;
            *scale = 1.0 / (variance + self.epsilon).sqrt();
            for (index, ((x, normal), out)) in x.iter().zip(normal).zip(out).enumerate() {
                *normal = (x - mean) * *scale;
                *out = *normal * self.weight[index] + self.bias.map_or(0.0, |bias| bias[index]);
            }
        }
    }
}

/// Turns the gradient of the output into that of the input: with g = gradient * weight, it is
/// (g - mean(g) - normal * mean(g * normal)) / deviation.
pub(crate) struct Denormalize<'a> {
    pub(crate) gradient: &'a mut [f32],
    pub(crate) weight: &'a [f32],
    pub(crate) normal: &'a [f32],
    pub(crate) scales: &'a [f32],
}

impl Kernel for Denormalize<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let width = self.weight.len();
        let rows = self.gradient.chunks_exact_mut(width).zip(self.normal.chunks_exact(width));
        for ((gradient, normal), scale) in rows.zip(self.scales) {
            gradient.iter_mut().zip(self.weight).for_each(|(gradient, weight)| *gradient *= weight);
            let mean = sum(simd, gradient, gradient, |g, _| g) / width as f32;
            let along = sum(simd, gradient, normal, |g, n| simd.mul(g, n)) / width as f32;
            for (gradient, normal) in gradient.iter_mut().zip(normal) {
                *gradient = (*gradient - mean - normal * along) * scale;
            }
        }
    }
}
