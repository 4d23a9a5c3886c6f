//! The transformer computed slowly.

use std::path::Path;

use toller_nn::reference::{attention, gated_linear};
use toller_nn::{Activation, Precision};

use super::{Dense, Norm, rounded, values};
use crate::EncoderError;
use crate::config::{Names, NormPlacement, Positions, QkvNames, TransformerConfig, UpNames};
use crate::transformer::{Attend, Loader, naming};
use toller_checkpoint::Fingerprint;
use toller_checkpoint::Tensors;
use toller_tokenizer::Tokens;

/// A transformer with its weights, for comparison.
pub(super) struct Transformer {
    pub(super) config: TransformerConfig,
    words: Vec<f32>,
    positions: Option<Vec<f32>>,
    token_types: Option<Vec<f32>>,
    task_types: Option<Vec<f32>>,
    embedding_norm: Norm,
    layers: Vec<Layer>,
    attend: Attend,
    final_norm: Option<Norm>,
}

struct Layer {
    qkv: Dense,
    attention_output: Dense,
    attention_norm: Option<Norm>,
    /// The linear half of a gated layer.
    gate: Option<Dense>,
    up: Dense,
    down: Dense,
    output_norm: Norm,
    is_local: bool,
}

impl Transformer {
    /// Loads the weights of `folder` a second time; the tensors come along for the heads that are in the same files.
    pub(super) fn load(folder: &Path) -> Result<(Self, Tensors), EncoderError> {
        let config = TransformerConfig::read(&folder.join("config.json"))?;
        let tensors = Tensors::open(folder)?.find_prefix(&format!("{}.weight", config.names.words))?;
        let names = *naming(&tensors, &config);
        let table = |name: &str, rows: usize| match rows {
            0 => Ok(None),
            rows => values(&tensors, &format!("{name}.weight"), &[rows, config.hidden]).map(Some),
        };
        let has_positions = config.positions != Positions::Rotary;
        let layers = (0..config.layers).map(|index| Layer::load(&tensors, &config, &names, index));
        let mut fingerprint = Fingerprint::new();
        let mut loader = Loader { tensors: &tensors, fingerprint: &mut fingerprint, dtype: Precision::F32 };
        let transformer = Self {
            words: values(&tensors, &format!("{}.weight", names.words), &[config.vocabulary, config.hidden])?,
            positions: table(names.positions, if has_positions { config.max_positions } else { 0 })?,
            token_types: table(names.token_types, config.token_types)?,
            task_types: table(names.task_types, config.task_types)?,
            embedding_norm: Norm::load(&tensors, names.embedding_norm, &config)?,
            layers: layers.collect::<Result<_, _>>()?,
            attend: Attend::load(&mut loader, &config, &names)?,
            final_norm: names.final_norm.map(|name| Norm::load(&tensors, name, &config)).transpose()?,
            config,
        };
        Ok((transformer, tensors))
    }

    /// The last layer's state of each token of a text: `[tokens, hidden]`.
    pub(super) fn forward(&self, tokens: &Tokens) -> Result<Vec<f32>, EncoderError> {
        let vocabulary = self.config.vocabulary;
        if let Some(&id) = tokens.input_ids.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(EncoderError::TokenId { id, vocabulary });
        }
        let mut states = self.embed(tokens); // [tokens, hidden]
        for layer in &self.layers {
            states = layer.forward(&states, &self.config, &self.attend); // [tokens, hidden]
        }
        Ok(match &self.final_norm {
            Some(norm) => norm.forward(&states),
            None => states,
        })
    }

    /// The sum of a token's embeddings, normalised: `[tokens, hidden]`.
    fn embed(&self, tokens: &Tokens) -> Vec<f32> {
        let hidden = self.config.hidden;
        let row = |table: &Option<Vec<f32>>, row: usize, column: usize| {
            table.as_ref().and_then(|table| table.get(row * hidden + column)).copied().map_or(0.0, f64::from)
        };
        let mut sums = Vec::with_capacity(tokens.len() * hidden);
        let mut counted = 0;
        for (at, (&id, &kind)) in tokens.input_ids.iter().zip(&tokens.type_ids).enumerate() {
            let position = match self.config.positions {
                Positions::FromZero | Positions::Rotary => at,
                Positions::AfterPadding(pad) if id == pad => pad as usize,
                Positions::AfterPadding(pad) => {
                    counted += 1;
                    pad as usize + counted
                }
            };
            sums.extend((0..hidden).map(|column| {
                let word = f64::from(self.words[id as usize * hidden + column]);
                let sum = word
                    + row(&self.positions, position, column)
                    + row(&self.token_types, kind as usize, column)
                    + row(&self.task_types, 0, column);
                sum as f32
            }));
        }
        self.embedding_norm.forward(&sums)
    }
}

impl Layer {
    fn load(
        tensors: &Tensors,
        config: &TransformerConfig,
        names: &Names,
        index: usize,
    ) -> Result<Self, EncoderError> {
        let (hidden, inner, bias) = (config.hidden, config.intermediate, config.attention.bias);
        let name = |part: &str| format!("{}.{index}.{part}", names.layer);
        let dense = |part: &str, out: usize, depth: usize, bias: bool| {
            Dense::load(tensors, &name(part), out, depth, bias)
        };
        let qkv = match names.qkv {
            QkvNames::Fused(part) => dense(part, 3 * hidden, hidden, bias)?,
            QkvNames::Separate([q, k, v]) => {
                let mut joined = dense(q, hidden, hidden, bias)?;
                for part in [k, v] {
                    let part = dense(part, hidden, hidden, bias)?;
                    joined.weight.extend(part.weight);
                    if let (Some(joined), Some(bias)) = (&mut joined.bias, part.bias) {
                        joined.extend(bias);
                    }
                }
                joined
            }
        };
        let (up, gate) = match names.up {
            UpNames::Plain(part) => (dense(part, inner, hidden, config.up_bias)?, None),
            UpNames::Gated { activated, linear } => (
                dense(activated, inner, hidden, config.up_bias)?,
                Some(dense(linear, inner, hidden, config.up_bias)?),
            ),
            UpNames::GatedFused(part) => {
                let mut up = dense(part, 2 * inner, hidden, config.up_bias)?;
                let weight = up.weight.split_off(inner * hidden);
                let bias = up.bias.as_mut().map(|bias| bias.split_off(inner));
                (up, Some(Dense { weight, bias, depth: hidden }))
            }
        };
        let has_norm = config.norm.placement == NormPlacement::After || index > 0;
        let local = config.attention.local.as_ref();
        Ok(Self {
            qkv,
            attention_output: dense(names.attention_output, hidden, hidden, bias)?,
            attention_norm: has_norm
                .then(|| Norm::load(tensors, &name(names.attention_norm), config))
                .transpose()?,
            gate,
            up,
            down: dense(names.down, hidden, inner, config.down_bias)?,
            output_norm: Norm::load(tensors, &name(names.output_norm), config)?,
            is_local: local.is_some_and(|local| local.layers.contain(index)),
        })
    }

    /// The next states from `states`: both `[tokens, hidden]`.
    fn forward(&self, states: &[f32], config: &TransformerConfig, attend: &Attend) -> Vec<f32> {
        let normal = |states: Vec<f32>| match &self.attention_norm {
            Some(norm) => norm.forward(&states),
            None => states,
        };
        match config.norm.placement {
            NormPlacement::After => {
                let states = normal(self.attention(states, states, config, attend));
                self.output_norm.forward(&self.feed_forward(&states, &states, config.activation))
            }
            NormPlacement::Before => {
                let states = self.attention(&normal(states.to_vec()), states, config, attend);
                self.feed_forward(&self.output_norm.forward(&states), &states, config.activation)
            }
        }
    }

    fn attention(
        &self,
        input: &[f32],
        residual: &[f32],
        config: &TransformerConfig,
        attend: &Attend,
    ) -> Vec<f32> {
        let qkv = self.qkv.forward(input, None, Activation::Identity); // [tokens, 3 * hidden]
        let offsets = [0, (input.len() / config.hidden) as u32];
        let context = attention(&qkv, &offsets, config.head_size(), &attend.options(self.is_local));
        self.attention_output.forward(&rounded(context), Some(residual), Activation::Identity)
    }

    fn feed_forward(&self, input: &[f32], residual: &[f32], activation: Activation) -> Vec<f32> {
        let inner = match &self.gate {
            None => self.up.forward(input, None, activation),
            Some(gate) => {
                let halves = [&self.up, gate].map(|half| (&half.weight[..], half.bias.as_deref()));
                rounded(gated_linear(input, halves[0], halves[1], activation, self.up.depth))
            }
        }; // [tokens, intermediate]
        self.down.forward(&inner, Some(residual), Activation::Identity)
    }
}
