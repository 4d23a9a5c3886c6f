//! Linear layers, forward and backward.

use toller_simd::product::Floats;
use toller_simd::tile::Rows;
use toller_simd::{Kernel, Simd};

use super::product::{Panels, product, transpose};

/// Writes `x [rows, depth] x panels` plus the bias to `out`.
pub(crate) struct Multiply<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) depth: usize,
    pub(crate) panels: &'a Panels,
    pub(crate) bias: Option<&'a [f32]>,
    pub(crate) out: &'a mut [f32],
}

impl Kernel for Multiply<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let columns = self.panels.columns();
        let rows = Rows::new(self.x, self.depth, self.x.len() / self.depth, self.depth);
        product(simd, rows, self.panels, self.out, columns, false);
        if let Some(bias) = self.bias {
            for row in self.out.chunks_exact_mut(columns) {
                row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
            }
        }
    }
}

/// Adds one sequence's part of a layer's gradient: for the outputs from `first`, as many as `weight` has
/// rows, the sum over tokens of `delta` times `x`, and the sum of `delta`. Each sum begins with the sequence,
/// so that the gradient is a chain over sequences however they are divided into batches.
pub(crate) struct AddGradient<'a> {
    /// `[tokens, inputs]`.
    pub(crate) x: &'a Panels,
    /// The gradient at the layer's output, `[tokens, outputs]`.
    pub(crate) delta: &'a [f32],
    pub(crate) outputs: usize,
    pub(crate) first: usize,
    /// Rows of the weight's gradient.
    pub(crate) weight: &'a mut [f32],
    pub(crate) bias: Option<&'a mut [f32]>,
    pub(crate) scratch: &'a mut Vec<f32>,
}

impl Kernel for AddGradient<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (inputs, tokens) = (self.x.columns(), self.delta.len() / self.outputs);
        let count = self.weight.len() / inputs;
        transpose(Rows::new(&self.delta[self.first..], self.outputs, tokens, count), self.scratch);
        let rows = Rows::new(self.scratch, tokens, count, tokens);
        product(simd, rows, self.x, self.weight, inputs, true);
        if let Some(bias) = self.bias {
            let sums = self.scratch.chunks_exact(tokens.max(1)).map(|row| row.iter().sum::<f32>());
            bias.iter_mut().zip(sums).for_each(|(bias, sum)| *bias += sum);
        }
    }
}
