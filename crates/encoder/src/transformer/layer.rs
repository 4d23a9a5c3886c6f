//! One layer of the transformer.

use candle_core::Tensor;
use toller_nn::{Activation, AttentionOptions, LayerNorm, Linear, attention};

use super::loader::Up;
use super::{Attend, Loader};
use crate::EncoderError;
use crate::batch::TokenBatch;
use crate::config::{Names, NormPlacement, TransformerConfig};

/// One encoder layer (Devlin et al. 2019; Vaswani et al. 2017, section 3.1): attention and a
/// feed-forward network, each with a residual and a layer norm after or before it.
pub(super) struct Layer {
    /// Queries, keys and values in one product: `[3 * hidden, hidden]`.
    qkv: Linear,
    attention_output: Linear,
    /// `None` in a first layer whose input the embeddings have normalised.
    attention_norm: Option<LayerNorm>,
    up: Up,
    activation: Activation,
    down: Linear,
    output_norm: LayerNorm,
    placement: NormPlacement,
    is_local: bool,
}

impl Layer {
    pub(super) fn load(
        loader: &mut Loader<'_>,
        config: &TransformerConfig,
        names: &Names,
        index: usize,
    ) -> Result<Self, EncoderError> {
        let (hidden, norm, bias) = (config.hidden, config.norm, config.attention.bias);
        let prefix = format!("{}.{index}.", names.layer);
        let name = |part: &str| format!("{prefix}{part}");
        let local = config.attention.local.as_ref();
        let is_local = local.is_some_and(|local| local.layers.contain(index));
        if let Some(local) = local.filter(|_| is_local) {
            loader
                .fingerprint
                .value("local attention", format!("{index} {} {}", local.reach, local.theta).as_bytes());
        }
        let has_attention_norm = norm.placement == NormPlacement::After || index > 0;
        Ok(Self {
            qkv: loader.qkv(&prefix, names.qkv, hidden, bias)?,
            attention_output: loader.linear(&name(names.attention_output), hidden, hidden, bias)?,
            attention_norm: has_attention_norm
                .then(|| loader.norm(&name(names.attention_norm), hidden, norm))
                .transpose()?,
            up: loader.up(&prefix, names.up, config.intermediate, hidden, config.up_bias)?,
            activation: config.activation,
            down: loader.down_linear(&name(names.down), hidden, config.intermediate, config.down_bias)?,
            output_norm: loader.norm(&name(names.output_norm), hidden, norm)?,
            placement: norm.placement,
            is_local,
        })
    }

    /// The next states from `states`: both `[tokens, hidden]`.
    pub(super) fn forward(
        &self,
        states: &Tensor,
        batch: &TokenBatch,
        attend: &Attend,
    ) -> Result<Tensor, EncoderError> {
        let options = attend.options(self.is_local);
        match self.placement {
            NormPlacement::After => {
                let states = self.attention(states, states, batch, &options)?; // [tokens, hidden]
                let states = normal(self.attention_norm.as_ref(), states)?; // [tokens, hidden]
                let output = self.feed_forward(&states, &states)?; // [tokens, hidden]
                Ok(self.output_norm.forward(&output)?)
            }
            NormPlacement::Before => {
                let input = normal(self.attention_norm.as_ref(), states.clone())?; // [tokens, hidden]
                let states = self.attention(&input, states, batch, &options)?; // [tokens, hidden]
                self.feed_forward(&self.output_norm.forward(&states)?, &states)
            }
        }
    }

    /// Attention over `input`, plus `residual`: all `[tokens, hidden]`.
    fn attention(
        &self,
        input: &Tensor,
        residual: &Tensor,
        batch: &TokenBatch,
        options: &AttentionOptions<'_>,
    ) -> Result<Tensor, EncoderError> {
        let qkv = self.qkv.forward(input, Activation::Identity)?; // [tokens, 3 * hidden]
        let context = attention(&qkv, &batch.sequences, options)?; // [tokens, hidden]
        Ok(self.attention_output.forward_add(&context, residual)?)
    }

    /// The feed-forward network over `input`, plus `residual`: all `[tokens, hidden]`.
    fn feed_forward(&self, input: &Tensor, residual: &Tensor) -> Result<Tensor, EncoderError> {
        let inner = match &self.up {
            Up::Plain(up) => up.forward(input, self.activation)?,
            Up::Gated(up) => up.forward(input, self.activation)?,
        }; // [tokens, intermediate]
        Ok(self.down.forward_add(&inner, residual)?)
    }
}

/// The states normalised, or as they are without a norm.
fn normal(norm: Option<&LayerNorm>, states: Tensor) -> candle_core::Result<Tensor> {
    match norm {
        Some(norm) => norm.forward(&states),
        None => Ok(states),
    }
}
