//! A linear layer on the CPU: product, bias, residual and activation in one pass over the output.

use toller_simd::{Isa, LANES, Simd};

use super::{Conversions, Finish, Weight};
use crate::Activation;
use crate::cpu::{Output, Part};

/// `activation(x * weight^T + bias) + residual`, with `x` `[rows, in]` and the output `[rows, out]`.
#[derive(Clone, Copy)]
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
    layer: Linear<'a>,
    columns: usize,
    out: *mut f32,
}

impl Finish for Epilogue<'_> {
    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, mut sums: S::F32) {
        let Linear { bias, residual, activation, .. } = self.layer;
        let at = row * self.columns + column;
        // SAFETY: `at + count` is within `[rows, columns]`, the length of the output and, as `run` checks,
        // of the residual; the bias is padded to whole vectors, as `run` checks.
        unsafe {
            if !bias.is_empty() {
                sums = simd.add(sums, simd.load(bias.as_ptr().add(column)));
            }
            sums = activation.apply(simd, sums);
            if count == LANES {
                if let Some(residual) = residual {
                    sums = simd.add(sums, simd.load(residual.as_ptr().add(at)));
                }
                simd.store(self.out.add(at), sums);
            } else {
                if let Some(residual) = residual {
                    sums = simd.add(sums, simd.load_part(residual.as_ptr().add(at), count));
                }
                simd.store_part(self.out.add(at), sums, count);
            }
        }
    }
}

impl Linear<'_> {
    /// Computes a part of the output's columns.
    pub(crate) fn run(self, isa: Isa, part: Part, out: Output, conversions: &mut Conversions) {
        let columns = self.weight.columns();
        let is_padded = self.bias.is_empty() || self.bias.len() >= columns.next_multiple_of(LANES);
        assert!(is_padded, "a bias of {} for {columns} columns", self.bias.len());
        assert_eq!(out.len(), self.rows * columns, "an output [{}, {columns}]", self.rows);
        assert!(
            self.residual.is_none_or(|residual| residual.len() == out.len()),
            "a residual of another shape"
        );
        let epilogue = Epilogue { layer: self, columns, out: out.start() };
        self.weight.multiply(isa, self.x, self.rows, part, conversions, epilogue);
    }
}
