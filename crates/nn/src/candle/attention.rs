//! Self-attention over the groups of a batch.

use candle_core::{D, Tensor};

use super::batch::{CandleBatch, Group};
use super::{Candle, CandleNorm, Products};
use crate::attention::Attention;
use crate::backend::Prefix;
use crate::cpu::check_width;
use crate::{AttentionParameters, NnError, prefix};

/// A kind of attention.
pub struct CandleAttention {
    attention: Attention,
    /// `[heads, 2 * reach + 1]`.
    relative_bias: Option<Tensor>,
    products: Products,
}

impl CandleAttention {
    pub(super) fn new(backend: &Candle, parameters: AttentionParameters<'_>) -> Result<Self, NnError> {
        let attention = Attention::new(parameters)?;
        let bias = parameters.relative_bias;
        let bias = bias.map(|table| backend.parameter(table.values, &[table.rows, table.columns]));
        Ok(Self { attention, relative_bias: bias.transpose()?, products: backend.inner })
    }

    /// `qkv` with the keys and values of a prefix. Tokens behind the prefix take a row of zeros.
    pub(super) fn put_prefix(
        &self,
        qkv: &Tensor,
        batch: &CandleBatch,
        prefix: Prefix<'_, Tensor>,
    ) -> Result<Tensor, NnError> {
        check_width("a prefix", qkv.dim(1)?, self.attention.input_width())?;
        let (rows, width) = prefix.table.dims2()?;
        let [of_states, of_prefix] = prefix::columns(&self.attention, (prefix.layer, width))?;
        let tokens = batch.positions.len();
        let taken: Vec<u32> = batch.positions.iter().map(|&token| token.min(rows as u32)).collect();
        let kept: Vec<f32> = taken.iter().map(|&row| f32::from(row as usize == rows)).collect();
        let taken = Tensor::from_vec(taken, tokens, qkv.device())?;
        let kept = Tensor::from_vec(kept, (tokens, 1), qkv.device())?.to_dtype(qkv.dtype())?;
        let own = qkv.narrow(1, of_states.start, of_states.len())?.broadcast_mul(&kept)?;
        let table = prefix.table.narrow(1, of_prefix.start, of_prefix.len())?;
        let table =
            Tensor::cat(&[&table, &Tensor::zeros((1, of_prefix.len()), table.dtype(), table.device())?], 0)?;
        let sum = own.add(&table.index_select(&taken, 0)?)?;
        Ok(Tensor::cat(&[&qkv.narrow(1, 0, of_states.start)?, &sum], 1)?)
    }

    /// The contexts `[tokens, heads * head size]`. `change` is given weights `[sequences, heads, length,
    /// length]` with the numbers of their sequences in the batch, for dropout.
    ///
    /// # Errors
    /// When the shapes do not agree, or the device fails.
    pub fn forward(
        &self,
        qkv: &Tensor,
        batch: &CandleBatch,
        head_norms: Option<&[CandleNorm; 2]>,
        change: impl Fn(Tensor, &[usize]) -> Result<Tensor, NnError>,
    ) -> Result<Tensor, NnError> {
        check_width("attention", qkv.dim(1)?, self.attention.input_width())?;
        let Attention { heads, head_size, .. } = self.attention;
        if qkv.dim(0)? == 0 {
            return Ok(qkv.narrow(1, 0, heads * head_size)?);
        }
        let groups = batch.groups.iter().filter(|group| group.length > 0).map(|group| {
            let change = |weights| change(weights, &group.sequences);
            self.attend(&batch.gather(qkv, group)?, group, head_norms, change)
        });
        Ok(batch.tokens_in_order(&groups.collect::<Result<Vec<_>, _>>()?)?)
    }

    /// The contexts of `qkv` `[sequences, length, (heads + 2 * key heads) * head size]`.
    fn attend(
        &self,
        qkv: &Tensor,
        group: &Group,
        head_norms: Option<&[CandleNorm; 2]>,
        change: impl Fn(Tensor) -> Result<Tensor, NnError>,
    ) -> Result<Tensor, NnError> {
        let Attention { heads, key_heads, head_size, .. } = self.attention;
        let (count, n) = (group.sequences.len(), group.length);
        // `[sequences, heads, length, head size]`.
        let part = |first: usize, heads: usize| {
            let part = qkv.narrow(2, first * head_size, heads * head_size)?;
            part.reshape((count, n, heads, head_size))?.transpose(1, 2)?.contiguous()
        };
        let mut queries = part(0, heads)?;
        let mut keys = part(heads, key_heads)?;
        if let Some([of_queries, of_keys]) = head_norms {
            (queries, keys) = (of_queries.forward(&queries)?, of_keys.forward(&keys)?);
        }
        // Scaled before the product: in f16 a product of unscaled queries may be infinite.
        queries = queries.affine(f64::from(self.attention.scale), 0.0)?;
        let values = part(heads + key_heads, key_heads)?;
        if let Some(rotary) = &self.attention.rotary {
            let table = rotary.table(n);
            let half = head_size / 2;
            let angles = |values: &[f32]| {
                Tensor::from_slice(&values[..n * half], (n, half), qkv.device())?.to_dtype(qkv.dtype())
            };
            let (cos, sin) = (angles(&table.cos)?, angles(&table.sin)?);
            queries = rotate(&queries, &cos, &sin)?;
            keys = rotate(&keys, &cos, &sin)?;
        }
        let (keys, values) = (self.for_queries(&keys)?, self.for_queries(&values)?);
        let mut scores = self.products.multiply(&queries, &keys.t()?)?;
        if let Some(table) = &self.relative_bias {
            scores = scores.broadcast_add(&bias(table, n)?)?;
        }
        if let Some(mask) = self.mask(n, qkv)? {
            scores = scores.broadcast_add(&mask)?;
        }
        let contexts = self.products.multiply(&change(softmax(&scores)?)?, &values)?;
        Ok(contexts.transpose(1, 2)?.reshape((count * n, heads * head_size))?)
    }

    /// The heads of keys or values, each once for every head of queries that shares it.
    fn for_queries(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let Attention { heads, key_heads, .. } = self.attention;
        if heads == key_heads {
            return Ok(x.clone());
        }
        let (count, _, n, size) = x.dims4()?;
        let shared = x.unsqueeze(2)?.broadcast_as((count, key_heads, heads / key_heads, n, size))?;
        shared.reshape((count, heads, n, size))
    }

    /// What is added to the scores `[length, length]`: -inf for a key that a query does not see.
    fn mask(&self, n: usize, like: &Tensor) -> candle_core::Result<Option<Tensor>> {
        if (self.attention.before, self.attention.after) == (None, None) {
            return Ok(None);
        }
        let mut mask = vec![f32::NEG_INFINITY; n * n];
        for (query, row) in mask.chunks_exact_mut(n).enumerate() {
            row[self.attention.seen(query, n)].fill(0.0);
        }
        Tensor::from_vec(mask, (n, n), like.device())?.to_dtype(like.dtype()).map(Some)
    }
}

/// Each head's values i and i + size / 2 rotated by the angle of the position.
fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> candle_core::Result<Tensor> {
    let half = x.dim(D::Minus1)? / 2;
    let (a, b) = (x.narrow(D::Minus1, 0, half)?, x.narrow(D::Minus1, half, half)?);
    let first = a.broadcast_mul(cos)?.sub(&b.broadcast_mul(sin)?)?;
    let second = b.broadcast_mul(cos)?.add(&a.broadcast_mul(sin)?)?;
    Tensor::cat(&[first, second], D::Minus1)
}

/// The biases `[heads, length, length]` of a table by distance.
fn bias(table: &Tensor, n: usize) -> candle_core::Result<Tensor> {
    let (heads, columns) = table.dims2()?;
    let reach = columns / 2;
    let column = |query: usize, key: usize| (key + reach).saturating_sub(query).min(columns - 1) as u32;
    let columns: Vec<u32> = (0..n).flat_map(|query| (0..n).map(move |key| column(query, key))).collect();
    table.index_select(&Tensor::from_vec(columns, n * n, table.device())?, 1)?.reshape((heads, n, n))
}

/// The softmax of each row. The largest score is a constant: the result does not depend on it.
fn softmax(scores: &Tensor) -> candle_core::Result<Tensor> {
    let largest = scores.max_keepdim(D::Minus1)?.detach();
    let weights = scores.broadcast_sub(&largest)?.exp()?;
    weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)
}
