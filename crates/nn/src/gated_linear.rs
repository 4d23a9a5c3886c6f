//! A gated linear layer on the CPU: both products, biases, activation and gating in one pass. (In f64 a gated
//! layer is two linear ones and a product.)
//!
//! Idea: a panel holds 16 columns of the activated half and the same 16 of the linear half, so that a tile
//! meets both. Of a row and panel the activated half always comes first; it is stored, and the linear half
//! multiplies the stored values, which are in the first-level cache.

use toller_simd::tile::PANEL;
use toller_simd::{Isa, LANES, Simd};

use crate::Activation;
use crate::cpu::{Output, Part};
use crate::linear::{Conversions, Finish, Weight};

/// `activation(x * activated^T + bias) * (x * linear^T + bias)`, with `x` `[rows, in]` and the output
/// `[rows, out]`.
#[derive(Clone, Copy)]
pub(crate) struct GatedLinear<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) rows: usize,
    /// The two halves as [`interleave`] puts them.
    pub(crate) weight: &'a Weight,
    /// The biases in the same order; empty for none.
    pub(crate) bias: &'a [f32],
    pub(crate) activation: Activation,
    /// The width of the output.
    pub(crate) columns: usize,
}

/// The rows of two matrices `[columns, depth]` in turns of sixteen, zeros where the last turn is short.
pub(crate) fn interleave(activated: &[f32], linear: &[f32], columns: usize, depth: usize) -> Vec<f32> {
    let turn = LANES * depth;
    let mut rows = Vec::with_capacity(columns.div_ceil(LANES) * 2 * turn);
    for first in (0..columns).step_by(LANES) {
        let range = first * depth..(first + LANES).min(columns) * depth;
        for half in [activated, linear] {
            let end = rows.len() + turn;
            rows.extend_from_slice(&half[range.clone()]);
            rows.resize(end, 0.0);
        }
    }
    rows
}

/// What follows the product.
struct Epilogue<'a> {
    layer: GatedLinear<'a>,
    out: *mut f32,
}

impl Finish for Epilogue<'_> {
    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, _: usize, mut sums: S::F32) {
        let GatedLinear { bias, activation, columns, .. } = self.layer;
        let first = column / PANEL * LANES;
        let count = LANES.min(columns - first);
        // SAFETY: of the output `[rows, columns]`, `row` exists, and `first` does since every panel has a
        // column of it; the bias is as long as the panels are wide, as `run` checks.
        unsafe {
            if !bias.is_empty() {
                sums = simd.add(sums, simd.load(bias.as_ptr().add(column)));
            }
            let to = self.out.add(row * columns + first);
            if column.is_multiple_of(PANEL) {
                simd.store_part(to, activation.apply(simd, sums), count);
            } else {
                simd.store_part(to, simd.mul(simd.load_part(to, count), sums), count);
            }
        }
    }
}

impl GatedLinear<'_> {
    /// Computes a part of the output's columns.
    pub(crate) fn run(self, isa: Isa, part: Part, out: Output, conversions: &mut Conversions) {
        let width = self.columns.div_ceil(LANES) * PANEL;
        assert_eq!(self.weight.columns(), width, "halves in turns of sixteen");
        assert!(self.bias.is_empty() || self.bias.len() == width, "an unpadded bias");
        assert_eq!(out.len(), self.rows * self.columns, "an output [{}, {}]", self.rows, self.columns);
        let epilogue = Epilogue { layer: self, out: out.start() };
        self.weight.multiply(isa, self.x, self.rows, part, conversions, epilogue);
    }
}
