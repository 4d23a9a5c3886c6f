//! The transformer, written once over every backend. Architectures differ by their configuration and by small
//! parts: tables, positions, the feed-forward network, where norms are.

mod layer;
mod loader;
mod prefix;
mod relative;
mod tables;

use std::path::Path;

use toller_checkpoint::{Fingerprint, ModelError, Parameters};
use toller_nn::{AttentionParameters, Backend, Matrix, NormPlacement, Prefix, RotaryParameters};
use toller_tokenizer::Tokens;

use self::layer::{Half, Layer};
pub(crate) use self::loader::{Loader, name_tensor, new_layer};
pub(crate) use self::relative::{BUCKETS, FARTHEST};
use self::tables::Tables;
use crate::EncoderError;
use crate::batch::TokenBatch;
use crate::config::{AttentionConfig, Names, Positions, QkvNames, Rope, TransformerConfig};

/// A transformer with its parameters, laid out for a backend.
pub(crate) struct Transformer<B: Backend> {
    tables: Tables<B>,
    layers: Vec<Layer<B>>,
    /// What global layers do.
    attention: B::Attention,
    /// What local layers do.
    local_attention: Option<B::Attention>,
    /// With norms after, a norm of the last states.
    final_norm: Option<B::Norm>,
    /// The number of tokens in front of every text, and their keys and values.
    prefix_tokens: usize,
    prefix: Option<B::Table>,
    /// Whether the states of a text's first tokens do not depend on what follows, and positions are not rows
    /// of a table, which are counted from each sequence's own start.
    may_share: bool,
}

impl<B: Backend> Transformer<B> {
    /// Opens the weights of `folder` and loads the architecture that `config` (of `folder/config.json`)
    /// describes. Also returns the parameters, for the heads in the same files.
    pub(crate) fn open(
        backend: &B,
        folder: &Path,
        config: &TransformerConfig,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Self, Parameters), EncoderError> {
        let parameters = Parameters::open(folder)?.with_lora(folder)?;
        let anchor = anchor(&parameters, config);
        let parameters = parameters.find_prefix(&anchor)?;
        let names = naming(&parameters, config);
        let mut loader = Loader { backend, parameters: &parameters, fingerprint };
        let mut transformer = Self::load(&mut loader, config, names)?;
        transformer.prefix = prefix::load(&mut loader, folder, config)?;
        check_layers(&parameters, config, names, folder)?;
        Ok((transformer, parameters))
    }

    fn load(
        loader: &mut Loader<'_, B>,
        config: &TransformerConfig,
        names: &Names,
    ) -> Result<Self, EncoderError> {
        let tables = Tables::load(loader, config, names)?;
        let mut layers: Vec<Layer<B>> = Vec::with_capacity(config.layers);
        for index in 0..config.layers {
            let (layer, norm_before) = Layer::load(loader, config, names, index)?;
            if let Some(last) = layers.last_mut().filter(|_| norm_before.is_some()) {
                last.output_norm = norm_before;
            }
            layers.push(layer);
        }
        let norm = |name| loader.norm(name, config.hidden, config.norm);
        let mut final_norm = names.final_norm.map(norm).transpose()?;
        if let (NormPlacement::Before, Some(last)) = (config.norm.placement, layers.last_mut()) {
            last.output_norm = final_norm.take();
        }
        let relative_bias = relative::load(loader, config, names)?;
        let attention = |rope: Option<Rope>, reach: Option<usize>| {
            let AttentionConfig { heads, key_heads, head_size, scale, is_causal, .. } = config.attention;
            let frequencies = rope.map(|rope| (rope.frequencies(head_size), rope.magnitude()));
            let rotary = frequencies
                .as_ref()
                .map(|(frequencies, magnitude)| RotaryParameters { frequencies, magnitude: *magnitude });
            let relative_bias = relative_bias.as_ref().map(|values| Matrix {
                values,
                rows: heads,
                columns: values.len() / heads,
            });
            loader.backend.attention(AttentionParameters {
                heads,
                key_heads,
                head_size,
                scale,
                rotary,
                relative_bias,
                before: reach,
                after: if is_causal { Some(0) } else { reach },
            })
        };
        let local = config.attention.local.as_ref();
        Ok(Self {
            tables,
            layers,
            attention: attention(config.attention.rope, None)?,
            local_attention: local.map(|local| attention(Some(local.rope), Some(local.reach))).transpose()?,
            final_norm,
            prefix_tokens: config.prefix_tokens(),
            prefix: None,
            may_share: config.attention.is_causal && config.positions == Positions::InAttention,
        })
    }

    /// The number of tokens in front of every text that is not empty.
    pub(crate) fn prefix_tokens(&self) -> usize {
        self.prefix_tokens
    }

    /// The texts as a batch of sequences, one for each.
    pub(crate) fn batch(&self, texts: &[Tokens]) -> TokenBatch {
        TokenBatch::new(texts, self.prefix_tokens)
    }

    /// Whether sequences may begin with another one's tokens: their states do not depend on what follows.
    pub(crate) fn shares_beginnings(&self, backend: &B) -> bool {
        self.may_share && self.prefix_tokens == 0 && backend.shares_beginnings()
    }

    /// The last layer's state of each token, those of the prefix included: `[tokens, hidden]`, with the batch
    /// as the backend has it.
    pub(crate) fn forward(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        batch: TokenBatch,
    ) -> Result<(B::States, B::Batch), EncoderError> {
        let batch = self.tables.batch(backend, batch)?;
        let mut stream = self.tables.embed(backend, scratch, &batch)?;
        for (number, layer) in self.layers.iter().enumerate() {
            let attention = match (layer.is_local, &self.local_attention) {
                (true, Some(local)) => local,
                _ => &self.attention,
            };
            let prefix = self.prefix.as_ref().map(|table| Prefix { table, layer: number });
            let half = Half { backend, batch: &batch, attention, prefix };
            stream = layer.forward(&half, scratch, stream)?;
        }
        let (mut states, residual) = stream.into_input();
        if let Some(residual) = residual {
            backend.release(scratch, residual);
        }
        if let Some(norm) = &self.final_norm {
            states = backend.normalize(scratch, states, norm)?;
        }
        Ok((states, batch))
    }
}

/// The name of the word embeddings.
fn anchor(parameters: &Parameters, config: &TransformerConfig) -> String {
    let of = |names: &Names| format!("{}.weight", names.words);
    let others = config.other_names.as_ref().map(of);
    let is_there = |anchor: &String| parameters.names().any(|name| name.ends_with(anchor.as_str()));
    let usual = of(&config.names);
    if is_there(&usual) { usual } else { others.filter(is_there).unwrap_or(usual) }
}

/// The naming that the tensors have, which the word embeddings and the first layer's attention show.
fn naming<'a>(parameters: &Parameters, config: &'a TransformerConfig) -> &'a Names {
    let is_there = |names: &&Names| {
        let (QkvNames::Fused(first) | QkvNames::Separate([first, ..])) = names.qkv;
        parameters.has(&format!("{}.weight", names.words))
            && parameters.has(&format!("{}.0.{first}.weight", names.layer))
    };
    let all = [Some(&config.names), config.other_names.as_ref()];
    all.into_iter().flatten().find(is_there).unwrap_or(&config.names)
}

/// An error if a layer's tensor was not asked for: the configuration describes another model.
fn check_layers(
    parameters: &Parameters,
    config: &TransformerConfig,
    names: &Names,
    folder: &Path,
) -> Result<(), EncoderError> {
    for name in parameters.unused() {
        let Some((number, _)) =
            name.strip_prefix(names.layer).and_then(|rest| rest.strip_prefix('.')?.split_once('.'))
        else {
            continue;
        };
        // Old files have the frequencies of the rotary positions, which follow from the configuration.
        if name.ends_with("rotary_emb.inv_freq") {
            continue;
        }
        let problem = if number.parse().is_ok_and(|number: usize| number < config.layers) {
            format!("the weights have {name:?}, which the configuration has no place for")
        } else {
            format!("the number of layers is {}, but the weights have {name:?}", config.layers)
        };
        return Err(ModelError::Config { path: folder.join("config.json"), problem }.into());
    }
    Ok(())
}
