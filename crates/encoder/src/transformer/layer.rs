//! One layer of the transformer.

use toller_nn::{Activation, Backend, Closing, NormPlacement, Place, Prefix, Stream};

use super::Loader;
use super::loader::Up;
use crate::EncoderError;
use crate::config::{Names, TransformerConfig};

/// One encoder layer (Devlin et al. 2019; Vaswani et al. 2017, section 3.1): attention and a feed-forward
/// network, each with a residual and a norm.
pub(super) struct Layer<B: Backend> {
    /// Queries, keys and values in one product: `[(heads + 2 * key heads) * head size, hidden]`.
    qkv: B::Linear,
    /// The norms of a head's queries and keys.
    head_norms: Option<[B::Norm; 2]>,
    attention_output: B::Linear,
    /// The norm after attention and its residual.
    attention_norm: Option<B::Norm>,
    up: Up<B>,
    activation: Activation,
    down: B::Linear,
    /// The norm after the feed-forward network and its residual. With norms before, this is the next layer's
    /// first norm, or the model's last.
    pub(super) output_norm: Option<B::Norm>,
    /// The norms of what attention and the feed-forward network add.
    inner_norms: Option<[B::Norm; 2]>,
    placement: NormPlacement,
    pub(super) is_local: bool,
}

/// What the layers of a batch share.
pub(super) struct Half<'a, B: Backend> {
    pub(super) backend: &'a B,
    pub(super) batch: &'a B::Batch,
    pub(super) attention: &'a B::Attention,
    pub(super) prefix: Option<Prefix<'a, B::Table>>,
}

impl<B: Backend> Layer<B> {
    /// Loads a layer. With norms before, also loads the norm of its input, which ends the layer before. A
    /// first layer has no such norm: the embeddings normalise its input.
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        config: &TransformerConfig,
        names: &Names,
        index: usize,
    ) -> Result<(Self, Option<B::Norm>), EncoderError> {
        let (hidden, norm, attention) = (config.hidden, config.norm, &config.attention);
        let prefix = format!("{}.{index}.", names.layer);
        let name = |part: &str| format!("{prefix}{part}");
        config.fingerprint_layer(index, loader.fingerprint);
        let is_local = config.local_attention(index).is_some();
        let context = attention.heads * attention.head_size;
        let qkv = loader.qkv(&prefix, names.qkv, config)?;
        let mut norms = |parts: Option<[&str; 2]>, width| {
            let load = |[first, second]: [&str; 2]| {
                let first = loader.norm(&name(first), width, norm)?;
                Ok::<_, EncoderError>([first, loader.norm(&name(second), width, norm)?])
            };
            parts.map(load).transpose()
        };
        let head_norms = norms(names.head_norms, attention.head_size)?;
        let inner_norms = norms(names.inner_norms, hidden)?;
        let output = name(names.attention_output);
        let attention_output =
            loader.linear(&output, hidden, context, attention.output_bias, Place::Inner)?;
        let has_attention_norm = norm.placement == NormPlacement::After || index > 0;
        let first_norm =
            has_attention_norm.then(|| loader.norm(&name(names.attention_norm), hidden, norm)).transpose()?;
        let up = loader.up(&prefix, names.up, config.intermediate, hidden, config.up_bias)?;
        let down =
            loader.linear(&name(names.down), hidden, config.intermediate, config.down_bias, Place::Down)?;
        let second_norm = Some(loader.norm(&name(names.output_norm), hidden, norm)?);
        let (attention_norm, output_norm, norm_before) = match norm.placement {
            NormPlacement::After => (first_norm, second_norm, None),
            NormPlacement::Before => (second_norm, None, first_norm),
        };
        let layer = Self {
            qkv,
            head_norms,
            attention_output,
            attention_norm,
            up,
            activation: config.activation,
            down,
            output_norm,
            inner_norms,
            placement: norm.placement,
            is_local,
        };
        Ok((layer, norm_before))
    }

    /// The next states: both streams are `[tokens, hidden]`.
    pub(super) fn forward(
        &self,
        half: &Half<'_, B>,
        scratch: &mut B::Scratch,
        stream: Stream<B::States>,
    ) -> Result<Stream<B::States>, EncoderError> {
        let backend = half.backend;
        let mut qkv = backend.project(scratch, stream.input(), &self.qkv, Activation::Identity)?;
        if let Some(prefix) = half.prefix {
            qkv = backend.put_prefix(scratch, qkv, half.batch, half.attention, prefix)?;
        }
        // [tokens, heads * head size]
        let context = backend.attend(scratch, qkv, half.batch, half.attention, self.head_norms.as_ref())?;
        let [of_attention, of_output] = match &self.inner_norms {
            Some(norms) => norms.each_ref().map(Some),
            None => [None; 2],
        };
        let closing = Closing {
            layer: &self.attention_output,
            inner_norm: of_attention,
            norm: self.attention_norm.as_ref(),
            placement: self.placement,
        };
        let stream = close(half, scratch, context, stream, closing)?;
        let inner = match &self.up {
            Up::Plain(up) => backend.project(scratch, stream.input(), up, self.activation)?,
            Up::Gated(up) => backend.gate(scratch, stream.input(), up, self.activation)?,
        }; // [tokens, intermediate]
        let closing = Closing {
            layer: &self.down,
            inner_norm: of_output,
            norm: self.output_norm.as_ref(),
            placement: self.placement,
        };
        close(half, scratch, inner, stream, closing)
    }
}

/// Ends half a layer.
fn close<B: Backend>(
    half: &Half<'_, B>,
    scratch: &mut B::Scratch,
    x: B::States,
    stream: Stream<B::States>,
    closing: Closing<'_, B::Linear, B::Norm>,
) -> Result<Stream<B::States>, EncoderError> {
    let Stream { residual, normed } = stream;
    if let Some(normed) = normed {
        half.backend.release(scratch, normed);
    }
    Ok(half.backend.close(scratch, x, closing, residual)?)
}
