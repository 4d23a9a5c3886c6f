//! Self-attention over a flat batch.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use crate::cpu::attention::Attention as CpuAttention;
use crate::custom_op::contiguous_f32;
use crate::profile::{Operation, timer};
use crate::sequences::Sequences;
use crate::simd;

/// Bidirectional attention of every token to its own sequence, softmax(Q K^T / sqrt(head_size)) V for
/// each head (Vaswani et al. 2017, equation 1).
///
/// `qkv` is `[tokens, 3 * hidden]`, the queries, keys and values of a token beside each other; the
/// result is `[tokens, hidden]`.
///
/// # Errors
/// When the shapes do not agree or `qkv` is no contiguous f32 tensor on the CPU.
pub fn attention(qkv: &Tensor, sequences: &Sequences, heads: usize) -> Result<Tensor> {
    let (tokens, width) = qkv.dims2()?;
    if heads == 0 || width == 0 || width % (3 * heads) != 0 || tokens != sequences.tokens() {
        bail!("attention: [{tokens}, {width}] for {heads} heads and {} tokens", sequences.tokens());
    }
    qkv.apply_op1_no_bwd(&Attention { sequences, heads, head_size: width / (3 * heads) })
}

struct Attention<'a> {
    sequences: &'a Sequences,
    heads: usize,
    head_size: usize,
}

impl CustomOp1 for Attention<'_> {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(&self, qkv: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let qkv = contiguous_f32("attention", qkv, layout)?;
        let offsets = self.sequences.offsets();
        // Queries with keys, and weights with values: 2 * length * length * hidden each.
        let squares: usize = self.sequences.ranges().map(|tokens| tokens.len() * tokens.len()).sum();
        let _timer = timer(Operation::Attention, 4 * squares * self.heads * self.head_size);
        let out = simd::dispatch(CpuAttention { qkv, offsets, heads: self.heads, head_size: self.head_size });
        Ok((CpuStorage::F32(out), Shape::from((self.sequences.tokens(), self.heads * self.head_size))))
    }
}
