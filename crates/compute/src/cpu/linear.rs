//! A linear layer on the CPU: product, bias, residual and activation in one pass over the output.

use super::product::Numbers;
use super::tile::{Epilogue, Packed, Rows, multiply};
use crate::activation::Activation;
use crate::simd::{Kernel, LANES, Simd};

/// `activation(x * weight^T + bias) + residual`, with `x` `[rows, in]` and the output `[rows, out]`.
pub(crate) struct Linear<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) weight: &'a Packed,
    /// `[out]`, padded with zeros to a multiple of sixteen; empty for none.
    pub(crate) bias: &'a [f32],
    /// `[rows, out]`.
    pub(crate) residual: Option<&'a [f32]>,
    pub(crate) activation: Activation,
}

/// The epilogue: everything that follows the product, while the sums are in registers.
struct Finish<'a> {
    bias: &'a [f32],
    residual: Option<&'a [f32]>,
    activation: Activation,
    columns: usize,
    out: *mut f32,
}

impl Epilogue for Finish<'_> {
    type Product = Numbers;

    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, mut sums: S::F32) {
        let at = row * self.columns + column;
        // SAFETY: `at + count` is within `[rows, columns]`, the length of the output and, as `run` checks,
        // of the residual; the bias is padded to whole vectors, as `run` checks.
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

impl Kernel for Linear<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f32> {
        let columns = self.weight.columns;
        assert!(
            self.bias.is_empty() || self.bias.len() >= columns.next_multiple_of(LANES),
            "an unpadded bias"
        );
        assert!(
            self.residual.is_none_or(|residual| residual.len() == self.rows * columns),
            "a residual of another shape"
        );
        let mut out = Vec::with_capacity(self.rows * columns);
        let mut finish = Finish {
            bias: self.bias,
            residual: self.residual,
            activation: self.activation,
            columns,
            out: out.as_mut_ptr(),
        };
        let rows = Rows::new(self.x, self.weight.depth, self.rows, self.weight.depth);
        multiply(simd, rows, self.weight.panels(), columns, &mut finish);
        // SAFETY: `multiply` has stored every element of `[rows, columns]`.
        unsafe { out.set_len(self.rows * columns) };
        out
    }
}
