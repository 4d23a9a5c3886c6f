//! Layer normalisation on the CPU: three passes over a row that stays in the first-level cache.

use toller_simd::{Kernel, LANES, Simd};

/// Normalises each row of `x` `[rows, width]` to mean 0 and variance 1, then scales and shifts.
pub(crate) struct LayerNorm<'a> {
    pub(crate) x: &'a [f32],
    /// `[width]`.
    pub(crate) weight: &'a [f32],
    /// `[width]`.
    pub(crate) bias: &'a [f32],
    pub(crate) epsilon: f32,
}

impl Kernel for LayerNorm<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f32> {
        let width = self.weight.len();
        assert!(width > 0 && self.bias.len() == width && self.x.len().is_multiple_of(width), "width {width}");
        let mut out = vec![0.0; self.x.len()];
        for (row, out) in self.x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            let mean = sum_of(simd, row, |x| x) / width as f32;
            let center = simd.splat(mean);
            let variance = sum_of(simd, row, |x| {
                let difference = simd.sub(x, center);
                simd.mul(difference, difference)
            }) / width as f32;
            let scale = simd.splat(1.0 / (variance + self.epsilon).sqrt());
            for at in (0..width).step_by(LANES) {
                let count = LANES.min(width - at);
                // SAFETY: `at + count <= width`, the length of all four slices.
                unsafe {
                    let x = simd.load_part(row.as_ptr().add(at), count);
                    let weight = simd.load_part(self.weight.as_ptr().add(at), count);
                    let bias = simd.load_part(self.bias.as_ptr().add(at), count);
                    let normal = simd.mul(simd.sub(x, center), scale);
                    simd.store_part(out.as_mut_ptr().add(at), simd.fma(normal, weight, bias), count);
                }
            }
        }
        out
    }
}

/// The sum of `function` over the values of `row`.
#[inline(always)]
fn sum_of<S: Simd>(simd: S, row: &[f32], function: impl Fn(S::F32) -> S::F32) -> f32 {
    let mut sums = simd.splat(0.0);
    let whole = row.chunks_exact(LANES);
    let rest = whole.remainder();
    for chunk in whole {
        // SAFETY: the chunk holds sixteen values.
        sums = simd.add(sums, function(unsafe { simd.load(chunk.as_ptr()) }));
    }
    let mut sum = simd.sum(sums);
    if !rest.is_empty() {
        // SAFETY: `rest` holds fewer than sixteen values.
        let lanes = simd.to_array(function(unsafe { simd.load_part(rest.as_ptr(), rest.len()) }));
        for lane in &lanes[..rest.len()] {
            sum += lane;
        }
    }
    sum
}
