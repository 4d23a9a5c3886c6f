//! The transformer encoder, written once over the operations of `toller-nn`. Architectures differ by
//! their configuration and by small parts: embeddings, positions, the feed-forward network, where norms are.

mod embeddings;
mod layer;
mod loader;
mod relative;

use std::path::Path;

use candle_core::Tensor;
use toller_checkpoint::ModelError;
use toller_nn::{AttentionOptions, LayerNorm, Precision, RelativeBias, Rotary};

use self::embeddings::Embeddings;
use self::layer::Layer;
pub(crate) use self::loader::Loader;
use crate::EncoderError;
use crate::batch::TokenBatch;
use crate::config::{Names, QkvNames, TransformerConfig};
use toller_checkpoint::Fingerprint;
use toller_checkpoint::Tensors;

/// A transformer with its weights.
pub(crate) struct Transformer {
    embeddings: Embeddings,
    layers: Vec<Layer>,
    attend: Attend,
    final_norm: Option<LayerNorm>,
}

/// How the layers attend: what they share.
pub(crate) struct Attend {
    heads: usize,
    /// For global layers.
    rotary: Option<Rotary>,
    /// For local layers, and the distance that they see.
    local: Option<(Rotary, usize)>,
    relative_bias: Option<RelativeBias>,
    dtype: Precision,
}

impl Transformer {
    /// Opens the weights of `folder` and loads the architecture that `config` (of `folder/config.json`)
    /// describes, to compute in `dtype`; the tensors come along for the heads that are in the same files.
    pub(crate) fn open(
        folder: &Path,
        config: &TransformerConfig,
        dtype: Precision,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Self, Tensors), EncoderError> {
        let anchor = format!("{}.weight", config.names.words);
        let tensors = Tensors::open(folder)?.find_prefix(&anchor)?;
        let names = naming(&tensors, config);
        let mut loader = Loader { tensors: &tensors, fingerprint, dtype };
        let transformer = Self::load(&mut loader, config, names)?;
        check_layers(&tensors, config, names, folder)?;
        Ok((transformer, tensors))
    }

    fn load(
        loader: &mut Loader<'_>,
        config: &TransformerConfig,
        names: &Names,
    ) -> Result<Self, EncoderError> {
        let embeddings = Embeddings::load(loader, config, names)?;
        let layers = (0..config.layers)
            .map(|index| Layer::load(loader, config, names, index))
            .collect::<Result<_, _>>()?;
        let final_norm =
            names.final_norm.map(|name| loader.norm(name, config.hidden, config.norm)).transpose()?;
        let attend = Attend::load(loader, config, names)?;
        Ok(Self { embeddings, layers, attend, final_norm })
    }

    /// The last layer's state of each token: `[tokens, hidden]`.
    pub(crate) fn forward(&self, batch: &TokenBatch) -> Result<Tensor, EncoderError> {
        let mut states = self.embeddings.forward(batch)?; // [tokens, hidden]
        for layer in &self.layers {
            states = layer.forward(&states, batch, &self.attend)?; // [tokens, hidden]
        }
        match &self.final_norm {
            Some(norm) => Ok(norm.forward(&states)?),
            None => Ok(states),
        }
    }
}

impl Attend {
    pub(crate) fn load(
        loader: &mut Loader<'_>,
        config: &TransformerConfig,
        names: &Names,
    ) -> Result<Self, EncoderError> {
        let rotary = |theta: f64| Rotary::new(config.head_size(), theta);
        let attention = &config.attention;
        let local = attention.local.as_ref();
        Ok(Self {
            heads: attention.heads,
            rotary: attention.rotary_theta.map(rotary).transpose()?,
            local: local
                .map(|local| Ok::<_, EncoderError>((rotary(local.theta)?, local.reach)))
                .transpose()?,
            relative_bias: relative::load(loader, config, names)?,
            dtype: loader.dtype,
        })
    }

    /// What a layer's attention needs to know.
    pub(crate) fn options(&self, is_local: bool) -> AttentionOptions<'_> {
        let (rotary, window) = match &self.local {
            Some((rotary, reach)) if is_local => (Some(rotary), Some(*reach)),
            _ => (self.rotary.as_ref(), None),
        };
        let relative_bias = self.relative_bias.as_ref();
        AttentionOptions { heads: self.heads, rotary, relative_bias, window, precision: self.dtype }
    }
}

/// The naming that the tensors have, which their first layer's attention shows.
pub(crate) fn naming<'a>(tensors: &Tensors, config: &'a TransformerConfig) -> &'a Names {
    let is_there = |names: &&Names| {
        let (QkvNames::Fused(first) | QkvNames::Separate([first, ..])) = names.qkv;
        tensors.has(&format!("{}.0.{first}.weight", names.layer))
    };
    config.other_names.as_ref().filter(is_there).unwrap_or(&config.names)
}

/// An error if a layer's tensor was not asked for: the configuration describes another model.
fn check_layers(
    tensors: &Tensors,
    config: &TransformerConfig,
    names: &Names,
    folder: &Path,
) -> Result<(), EncoderError> {
    for name in tensors.unused() {
        let Some((number, _)) =
            name.strip_prefix(names.layer).and_then(|rest| rest.strip_prefix('.')?.split_once('.'))
        else {
            continue;
        };
        let problem = if number.parse().is_ok_and(|number: usize| number < config.layers) {
            format!("the weights have {name:?}, which the configuration has no place for")
        } else {
            format!("num_hidden_layers is {}, but the weights have {name:?}", config.layers)
        };
        return Err(ModelError::Config { path: folder.join("config.json"), problem }.into());
    }
    Ok(())
}
