//! Self-attention over a flat batch: what a kind of attention is, on every backend of the host.

pub(crate) mod cpu;
mod operand;
pub(crate) mod reference;
mod relative_bias;
mod rotary;

use std::ops::Range;

pub(crate) use self::relative_bias::RelativeBias;
pub(crate) use self::rotary::{Rotary, RotaryTable};
use crate::{AttentionParameters, NnError, Sequences};

/// A kind of attention: [`AttentionParameters`], checked and prepared.
pub struct Attention {
    pub(crate) heads: usize,
    pub(crate) key_heads: usize,
    pub(crate) head_size: usize,
    /// What the scores are multiplied by.
    pub(crate) scale: f32,
    pub(crate) rotary: Option<Rotary>,
    pub(crate) relative_bias: Option<RelativeBias>,
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
}

impl Attention {
    pub(crate) fn new(parameters: AttentionParameters<'_>) -> Result<Self, NnError> {
        let AttentionParameters { heads, key_heads, head_size, scale, before, after, .. } = parameters;
        if heads == 0 || head_size == 0 || key_heads == 0 || !heads.is_multiple_of(key_heads) {
            return Err(NnError::Shape(format!(
                "attention with {heads} heads of {head_size} over {key_heads} key heads"
            )));
        }
        let rotary = parameters.rotary.map(|rotary| Rotary::new(head_size, rotary)).transpose()?;
        let relative_bias =
            parameters.relative_bias.map(|table| RelativeBias::new(table, heads)).transpose()?;
        Ok(Self { heads, key_heads, head_size, scale, rotary, relative_bias, before, after })
    }

    /// Values of a token's queries, keys and values.
    pub(crate) fn input_width(&self) -> usize {
        (self.heads + 2 * self.key_heads) * self.head_size
    }

    /// Values of a token's context.
    pub(crate) fn output_width(&self) -> usize {
        self.heads * self.head_size
    }

    /// The first value of the queries, keys and values that a head of queries multiplies.
    pub(crate) fn places(&self, head: usize) -> [usize; 3] {
        let key_head = head / (self.heads / self.key_heads);
        [head, self.heads + key_head, self.heads + self.key_heads + key_head]
            .map(|place| place * self.head_size)
    }

    /// The keys that a query sees, of a sequence of `n` tokens.
    pub(crate) fn seen(&self, query: usize, n: usize) -> Range<usize> {
        let start = self.before.map_or(0, |before| query.saturating_sub(before));
        let end = self.after.map_or(n, |after| query.saturating_add(after).saturating_add(1).min(n));
        start..end
    }

    /// Multiplications and additions over these sequences: queries with keys, and weights with values, each
    /// 2 * queries * keys * width.
    pub(crate) fn operations(&self, sequences: &Sequences) -> usize {
        let pairs = sequences.parts().map(|(before, own)| self.pairs(own.len(), before.len() + own.len()));
        4 * pairs.sum::<usize>() * self.output_width()
    }

    /// The pairs of keys of a sequence of `n` tokens with its last `queries` that are multiplied, without
    /// rounding to panels.
    fn pairs(&self, queries: usize, n: usize) -> usize {
        match (self.before, self.after) {
            (None, None) => queries * n,
            (before, after) => {
                let reach = |side: Option<usize>| side.unwrap_or(n).min(n);
                queries * n.min(reach(before) + reach(after) + 1)
            }
        }
    }
}
