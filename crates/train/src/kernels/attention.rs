//! Self-attention of one sequence, forward and backward, a head at a time.
//!
//! The backward pass computes the weights again from queries and keys: nothing of size `[tokens, tokens]`
//! outlives a head.

use toller_simd::product::Floats;
use toller_simd::tile::Rows;
use toller_simd::{self as simd, Kernel, LANES, Simd};

use super::norm::sum;
use super::product::{Panels, product, transpose};
use crate::dropout::Mask;

/// The shape of an attention: rows of queries, keys and values, each `heads * head_size` values.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(crate) heads: usize,
    pub(crate) head_size: usize,
}

impl Shape {
    pub(crate) fn hidden(self) -> usize {
        self.heads * self.head_size
    }
}

/// The buffers of a thread.
#[derive(Default)]
pub(crate) struct Buffers {
    panels: Panels,
    /// softmax(Q K^T / sqrt(head size)), `[tokens, tokens]`.
    weights: Vec<f32>,
    /// The same after dropout; then the gradient of the scores.
    dropped: Vec<f32>,
    transposed: Vec<f32>,
}

/// One sequence: `qkv` `[tokens, 3 * hidden]`.
#[derive(Clone, Copy)]
pub(crate) struct Sequence<'a> {
    pub(crate) shape: Shape,
    pub(crate) qkv: &'a [f32],
    pub(crate) mask: Option<Mask>,
}

impl<'a> Sequence<'a> {
    fn tokens(&self) -> usize {
        self.qkv.len() / (3 * self.shape.hidden())
    }

    /// The queries (0), keys (1) or values (2) of a head: `[tokens, head_size]`.
    fn part(&self, part: usize, head: usize) -> Rows<'a> {
        let (hidden, size) = (self.shape.hidden(), self.shape.head_size);
        Rows::new(&self.qkv[part * hidden + head * size..], 3 * hidden, self.tokens(), size)
    }

    fn scale(&self) -> f32 {
        1.0 / (self.shape.head_size as f32).sqrt()
    }

    /// The weights of a head, before and after dropout.
    #[inline(always)]
    fn weigh<S: Simd>(&self, simd: S, head: usize, buffers: &mut Buffers) {
        let tokens = self.tokens();
        let Buffers { panels, weights, dropped, .. } = buffers;
        weights.resize(tokens * tokens, 0.0);
        panels.pack_transposed(self.part(1, head));
        product(simd, self.part(0, head), panels, weights, tokens, false);
        for row in weights.chunks_exact_mut(tokens) {
            softmax(simd, row, self.scale());
        }
        dropped.clone_from(weights);
        if let Some(mask) = self.mask {
            mask.apply(head * tokens * tokens, dropped);
        }
    }
}

/// Turns scores into softmax(scale * scores).
#[inline(always)]
fn softmax<S: Simd>(simd: S, row: &mut [f32], scale: f32) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (factor, shift) = (simd.splat(scale), simd.splat(-largest * scale));
    for part in row.chunks_mut(LANES) {
        // SAFETY: the part holds as many values.
        unsafe {
            let score = simd.load_part(part.as_ptr(), part.len());
            simd.store_part(part.as_mut_ptr(), simd::exp(simd, simd.fma(score, factor, shift)), part.len());
        }
    }
    let total = sum(simd, row, row, |x, _| x);
    row.iter_mut().for_each(|weight| *weight /= total);
}

/// Writes the contexts to `out`, `[tokens, hidden]`.
pub(crate) struct Attend<'a> {
    pub(crate) sequence: Sequence<'a>,
    pub(crate) out: &'a mut [f32],
    pub(crate) buffers: &'a mut Buffers,
}

impl Kernel for Attend<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { sequence, out, buffers } = self;
        let (tokens, Shape { heads, head_size }) = (sequence.tokens(), sequence.shape);
        for head in 0..heads {
            sequence.weigh(simd, head, buffers);
            buffers.panels.pack(sequence.part(2, head));
            let weights = Rows::new(&buffers.dropped, tokens, tokens, tokens);
            product(simd, weights, &buffers.panels, &mut out[head * head_size..], heads * head_size, false);
        }
    }
}

/// Writes the gradient of queries, keys and values to `out`, `[tokens, 3 * hidden]`.
pub(crate) struct AttendBack<'a> {
    pub(crate) sequence: Sequence<'a>,
    /// The gradient of the contexts, `[tokens, hidden]`.
    pub(crate) gradient: &'a [f32],
    pub(crate) out: &'a mut [f32],
    pub(crate) buffers: &'a mut Buffers,
}

impl Kernel for AttendBack<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { sequence, gradient, out, buffers } = self;
        let (tokens, shape) = (sequence.tokens(), sequence.shape);
        let (hidden, size) = (shape.hidden(), shape.head_size);
        let stride = 3 * hidden;
        for head in 0..shape.heads {
            let place = |part: usize| part * hidden + head * size;
            let contexts = Rows::new(&gradient[head * size..], hidden, tokens, size);
            sequence.weigh(simd, head, buffers);
            let Buffers { panels, weights, dropped, transposed } = &mut *buffers;

            // The values': the weights' transpose times the contexts' gradient.
            transpose(Rows::new(dropped, tokens, tokens, tokens), transposed);
            panels.pack(contexts);
            let rows = Rows::new(transposed, tokens, tokens, tokens);
            product(simd, rows, panels, &mut out[place(2)..], stride, false);

            // The weights' gradient, then through dropout and softmax that of the scores.
            panels.pack_transposed(sequence.part(2, head));
            product(simd, contexts, panels, dropped, tokens, false);
            if let Some(mask) = sequence.mask {
                mask.apply(head * tokens * tokens, dropped);
            }
            let scale = sequence.scale();
            for (gradient, weights) in dropped.chunks_exact_mut(tokens).zip(weights.chunks_exact(tokens)) {
                let along = sum(simd, gradient, weights, |g, w| simd.mul(g, w));
                for (gradient, weight) in gradient.iter_mut().zip(weights) {
                    *gradient = (*gradient - along) * weight * scale;
                }
            }

            panels.pack(sequence.part(1, head));
            let rows = Rows::new(dropped, tokens, tokens, tokens);
            product(simd, rows, panels, &mut out[place(0)..], stride, false);
            transpose(rows, transposed);
            panels.pack(sequence.part(0, head));
            let rows = Rows::new(transposed, tokens, tokens, tokens);
            product(simd, rows, panels, &mut out[place(1)..], stride, false);
        }
    }
}
