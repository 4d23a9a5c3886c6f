//! A linear layer on the CPU: product, bias, residual and activation in one pass over the output.

use super::weight::{Finish, Weight};
use crate::activation::Activation;
use toller_simd::{Isa, LANES, Simd};

/// `activation(x * weight^T + bias) + residual`, with `x` `[rows, in]` and the output `[rows, out]`.
pub(crate) struct Linear<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) weight: &'a Weight,
    /// `[out]`, padded with zeros to a multiple of sixteen; empty for none.
    pub(crate) bias: &'a [f32],
    /// `[rows, out]`.
    pub(crate) residual: Option<&'a [f32]>,
    pub(crate) activation: Activation,
}

/// Everything that follows the product, while the sums are in registers.
struct Epilogue<'a> {
    bias: &'a [f32],
    residual: Option<&'a [f32]>,
    activation: Activation,
    columns: usize,
    out: *mut f32,
}

impl Finish for Epilogue<'_> {
    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, mut sums: S::F32) {
        let at = row * self.columns + column;
        // SAFETY: `at + count` is within `[rows, columns]`, the length of the output and, as `on` checks,
        // of the residual; the bias is padded to whole vectors, as `on` checks.
        unsafe {
            if !self.bias.is_empty() {
                sums = simd.add(sums, simd.load(self.bias.as_ptr().add(column)));
            }
            sums = self.activation.apply(simd, sums);
            if count == LANES {
                if let Some(residual) = self.residual {
                    sums = simd.add(sums, simd.load(residual.as_ptr().add(at)));
                }
                simd.store(self.out.add(at), sums);
            } else {
                if let Some(residual) = self.residual {
                    sums = simd.add(sums, simd.load_part(residual.as_ptr().add(at), count));
                }
                simd.store_part(self.out.add(at), sums, count);
            }
        }
    }
}

impl Linear<'_> {
    /// Computes the layer.
    pub(crate) fn on(self, isa: Isa) -> Vec<f32> {
        let columns = self.weight.columns();
        assert!(
            self.bias.is_empty() || self.bias.len() >= columns.next_multiple_of(LANES),
            "an unpadded bias"
        );
        assert!(
            self.residual.is_none_or(|residual| residual.len() == self.rows * columns),
            "a residual of another shape"
        );
        let mut out = Vec::with_capacity(self.rows * columns);
        let epilogue = Epilogue {
            bias: self.bias,
            residual: self.residual,
            activation: self.activation,
            columns,
            out: out.as_mut_ptr(),
        };
        self.weight.multiply(isa, self.x, self.rows, epilogue);
        // SAFETY: `multiply` has stored every element of `[rows, columns]`.
        unsafe { out.set_len(self.rows * columns) };
        out
    }
}
