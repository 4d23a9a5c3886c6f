//! Self-attention over a flat batch.

use std::marker::PhantomData;

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use half::bf16;

use crate::cpu::attention::Attention as CpuAttention;
use crate::custom_op::contiguous_f32;
use crate::precision::Precision;
use crate::profile::{Operation, timer};
use crate::relative_bias::RelativeBias;
use crate::rotary::Rotary;
use crate::sequences::Sequences;
use toller_simd::{self as simd, Isa};

/// How a layer attends.
#[derive(Clone, Copy, Default)]
pub struct AttentionOptions<'a> {
    /// The number of heads.
    pub heads: usize,
    /// Rotates queries and keys by their positions.
    pub rotary: Option<&'a Rotary>,
    /// Is added to the scaled scores.
    pub relative_bias: Option<&'a RelativeBias>,
    /// A token sees those at most this far before and after it; `None` for the whole sequence. The cost is
    /// then linear in a sequence's length.
    pub window: Option<usize>,
    /// What is multiplied: bf16 in [`Precision::Int8`], else f32.
    pub precision: Precision,
}

/// Bidirectional attention of every token to its own sequence, softmax(Q K^T / sqrt(head_size) + B) V for
/// each head (Vaswani et al. 2017, equation 1), where Q and K may be rotated, B is the relative bias if
/// there is one, and keys outside the window count for nothing.
///
/// `qkv` is `[tokens, 3 * hidden]`, the queries, keys and values of a token beside each other; the
/// result is `[tokens, hidden]`.
///
/// # Errors
/// When the shapes do not agree or `qkv` is no contiguous f32 tensor on the CPU.
pub fn attention(qkv: &Tensor, sequences: &Sequences, options: &AttentionOptions<'_>) -> Result<Tensor> {
    let (tokens, width) = qkv.dims2()?;
    let heads = options.heads;
    if heads == 0 || width == 0 || width % (3 * heads) != 0 || tokens != sequences.tokens() {
        bail!("attention: [{tokens}, {width}] for {heads} heads and {} tokens", sequences.tokens());
    }
    let head_size = width / (3 * heads);
    if let Some(rotary) = options.rotary.filter(|rotary| rotary.head_size() != head_size) {
        bail!("attention: rotary positions for heads of {}, not {head_size}", rotary.head_size());
    }
    if let Some(bias) = options.relative_bias.filter(|bias| bias.heads() != heads) {
        bail!("attention: a relative bias for {} heads, not {heads}", bias.heads());
    }
    qkv.apply_op1_no_bwd(&Attention { sequences, options, head_size })
}

struct Attention<'a> {
    sequences: &'a Sequences,
    options: &'a AttentionOptions<'a>,
    head_size: usize,
}

impl CustomOp1 for Attention<'_> {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(&self, qkv: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let qkv = contiguous_f32("attention", qkv, layout)?;
        let heads = self.options.heads;
        let longest = self.sequences.ranges().map(|tokens| tokens.len()).max().unwrap_or(0);
        let rotary = self.options.rotary.map(|rotary| rotary.table(longest));
        // Queries with keys, and weights with values: 2 * queries * keys * hidden each.
        let most_keys =
            self.options.window.map_or(usize::MAX, |window| window.saturating_mul(2).saturating_add(1));
        let pairs: usize =
            self.sequences.ranges().map(|tokens| tokens.len() * tokens.len().min(most_keys)).sum();
        let _timer = timer(Operation::Attention, 4 * pairs * heads * self.head_size);
        let isa = Isa::active();
        let attention = CpuAttention {
            qkv,
            offsets: self.sequences.offsets(),
            heads,
            head_size: self.head_size,
            rotary: rotary.as_deref(),
            relative_bias: self.options.relative_bias,
            window: self.options.window,
            operand: PhantomData::<f32>,
        };
        let out = match self.options.precision {
            Precision::F32 | Precision::F16 => simd::dispatch_on(isa, attention),
            Precision::Bf16 | Precision::Int8 => simd::dispatch_pairs_on(isa, attention.of::<bf16>()),
        };
        Ok((CpuStorage::F32(out), Shape::from((self.sequences.tokens(), heads * self.head_size))))
    }
}
