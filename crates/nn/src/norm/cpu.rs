//! Layer normalisation on the CPU: three passes over a row that stays in the first-level cache.

use toller_simd::product::Floats;
use toller_simd::{Kernel, LANES, Simd};

/// A norm over rows of `weight.len()` values.
pub struct Norm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) epsilon: f32,
    pub(crate) centers: bool,
}

impl Norm {
    /// Values of a row.
    pub(crate) fn width(&self) -> usize {
        self.weight.len()
    }

    /// Normalises a row in place.
    #[inline(always)]
    pub(crate) fn normalize<S: Simd>(&self, simd: S, row: &mut [f32]) {
        let Self { weight, bias, epsilon, centers } = self;
        let width = weight.len();
        assert!(width > 0 && bias.len() == width && row.len() == width, "width {width}");
        let mean = if *centers { sum_of(simd, row, |x| x) / width as f32 } else { 0.0 };
        let center = simd.splat(mean);
        let variance = sum_of(simd, row, |x| {
            let difference = simd.sub(x, center);
            simd.mul(difference, difference)
        }) / width as f32;
        let scale = simd.splat(1.0 / (variance + epsilon).sqrt());
        for at in (0..width).step_by(LANES) {
            let count = LANES.min(width - at);
            // SAFETY: `at + count <= width`, the length of all three slices.
            unsafe {
                let x = simd.load_part(row.as_ptr().add(at), count);
                let weight = simd.load_part(weight.as_ptr().add(at), count);
                let bias = simd.load_part(bias.as_ptr().add(at), count);
                let normal = simd.mul(simd.sub(x, center), scale);
                simd.store_part(row.as_mut_ptr().add(at), simd.fma(normal, weight, bias), count);
            }
        }
    }
}

/// Normalises each row of `x` `[rows, width]` into `out`, or in place if there is no `x`.
pub(crate) struct Normalize<'a> {
    pub(crate) norm: &'a Norm,
    pub(crate) x: Option<&'a [f32]>,
    pub(crate) out: &'a mut [f32],
}

impl Kernel for Normalize<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let width = self.norm.width();
        assert!(self.x.is_none_or(|x| x.len() == self.out.len()), "as many rows in as out");
        for (index, out) in self.out.chunks_exact_mut(width).enumerate() {
            if let Some(x) = self.x {
                out.copy_from_slice(&x[index * width..(index + 1) * width]);
            }
            self.norm.normalize(simd, out);
        }
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
