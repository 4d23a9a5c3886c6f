//! A tower computed slowly: one text at a time, every operation by `compute::reference` with sums in f64, nothing fused.
//!
//! It shares with the fast tower what decides the meaning (configuration, names, layout) and no arithmetic. States are rounded
//! to f32 between operations, as the operations' interfaces have it: some 1e-7 of a vector's length.

use toller_compute::reference::{self, attention, gated_linear, layer_norm};
use toller_compute::{Activation, Pooling, Precision};

use crate::batch::Tokens;
use crate::config::{Names, NormPlacement, Positions, QkvNames, TransformerConfig, UpNames};
use crate::fingerprint::Fingerprint;
use crate::layout::{Layout, Module};
use crate::tensors::Tensors;
use crate::text_encoder::projection_tensor;
use crate::transformer::{Attend, Loader, naming};
use crate::{EncoderError, TextEncoder};

/// A tower with its weights, for comparison.
pub struct ReferenceEncoder {
    config: TransformerConfig,
    words: Vec<f32>,
    positions: Option<Vec<f32>>,
    token_types: Option<Vec<f32>>,
    task_types: Option<Vec<f32>>,
    embedding_norm: Norm,
    layers: Vec<Layer>,
    attend: Attend,
    final_norm: Option<Norm>,
    poolings: Vec<Pooling>,
    /// Tokens at the start of every text that are not pooled.
    unpooled: usize,
    head: Vec<Step>,
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

/// A linear layer: `[out, depth]`, `[out]`.
struct Dense {
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
    depth: usize,
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

/// A step from the pooled states to the vector.
enum Step {
    Dense(Dense, Activation),
    Truncate(usize),
    Normalize,
}

impl ReferenceEncoder {
    /// Loads the weights of `layout`, whose fast tower is `fast`, a second time.
    pub(crate) fn load(layout: &Layout, fast: &TextEncoder) -> Result<Self, EncoderError> {
        let folder = &layout.transformer;
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
        Ok(Self {
            words: values(&tensors, &format!("{}.weight", names.words), &[config.vocabulary, config.hidden])?,
            positions: table(names.positions, if has_positions { config.max_positions } else { 0 })?,
            token_types: table(names.token_types, config.token_types)?,
            task_types: table(names.task_types, config.task_types)?,
            embedding_norm: Norm::load(&tensors, names.embedding_norm, &config)?,
            layers: layers.collect::<Result<_, _>>()?,
            attend: Attend::load(&mut loader, &config, &names)?,
            final_norm: names.final_norm.map(|name| Norm::load(&tensors, name, &config)).transpose()?,
            poolings: fast.poolings().to_vec(),
            unpooled: fast.unpooled(),
            head: head(layout, fast, &config, &tensors)?,
            config,
        })
    }

    /// The vector of a tokenized text.
    ///
    /// # Errors
    /// When a token has no embedding.
    pub fn encode(&self, tokens: &Tokens) -> Result<Vec<f32>, EncoderError> {
        let vocabulary = self.config.vocabulary;
        if let Some(&id) = tokens.input_ids.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(EncoderError::TokenId { id, vocabulary });
        }
        let mut states = self.embed(tokens); // [tokens, hidden]
        for layer in &self.layers {
            states = layer.forward(&states, &self.config, &self.attend); // [tokens, hidden]
        }
        if let Some(norm) = &self.final_norm {
            states = norm.forward(&states);
        }
        let pool = |&pooling: &Pooling| pool(&states, self.config.hidden, pooling, self.unpooled);
        let pooled = self.poolings.iter().flat_map(pool).collect(); // [poolings * hidden]
        Ok(self.head.iter().fold(pooled, |vector, step| step.forward(vector)))
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

impl Dense {
    fn load(
        tensors: &Tensors,
        name: &str,
        out: usize,
        depth: usize,
        bias: bool,
    ) -> Result<Self, EncoderError> {
        let weight = values(tensors, &format!("{name}.weight"), &[out, depth])?;
        let bias = bias.then(|| values(tensors, &format!("{name}.bias"), &[out])).transpose()?;
        Ok(Self { weight, bias, depth })
    }

    fn forward(&self, x: &[f32], residual: Option<&[f32]>, activation: Activation) -> Vec<f32> {
        let bias = self.bias.as_deref();
        rounded(reference::linear(x, &self.weight, bias, residual, activation, self.depth))
    }
}

impl Norm {
    fn load(tensors: &Tensors, name: &str, config: &TransformerConfig) -> Result<Self, EncoderError> {
        let part =
            |part: &str| Ok::<_, EncoderError>(tensors.get_norm(name, part, config.hidden)?.to_vec1()?);
        let bias = if config.norm.bias { part("bias")? } else { vec![0.0; config.hidden] };
        Ok(Self { weight: part("weight")?, bias, epsilon: config.norm.epsilon as f32 })
    }

    fn forward(&self, x: &[f32]) -> Vec<f32> {
        rounded(layer_norm(x, &self.weight, &self.bias, self.epsilon))
    }
}

/// The steps after the pooling.
fn head(
    layout: &Layout,
    fast: &TextEncoder,
    config: &TransformerConfig,
    tensors: &Tensors,
) -> Result<Vec<Step>, EncoderError> {
    let mut steps = Vec::new();
    let mut dim = config.hidden * fast.poolings().len();
    if fast.uses_pooler() {
        let pooler = Dense::load(tensors, "pooler.dense", dim, dim, true)?;
        steps.push(Step::Dense(pooler, Activation::Tanh));
    }
    if config.projection > 0 {
        let part = |part: &str, shape: &[usize]| -> Result<Vec<f32>, EncoderError> {
            let tensor = tensors.get_by_full_name(&projection_tensor(tensors, part), shape)?;
            Ok(tensor.flatten_all()?.to_vec1()?)
        };
        let weight = part("weight", &[config.projection, dim])?;
        let bias = Some(part("bias", &[config.projection])?);
        steps.push(Step::Dense(Dense { weight, bias, depth: dim }, Activation::Identity));
        dim = config.projection;
    }
    for module in &layout.modules {
        let Module::Dense { folder, config } = module else {
            steps.push(Step::Normalize);
            continue;
        };
        let dense = Dense::load(&Tensors::open(folder)?, "linear", config.out_features, dim, config.bias)?;
        steps.push(Step::Dense(dense, config.activation_function));
        dim = config.out_features;
    }
    if fast.dim() < dim {
        let at = steps.len() - usize::from(matches!(steps.last(), Some(Step::Normalize)));
        steps.insert(at, Step::Truncate(fast.dim()));
    }
    Ok(steps)
}

impl Step {
    fn forward(&self, mut vector: Vec<f32>) -> Vec<f32> {
        match self {
            Self::Dense(dense, activation) => dense.forward(&vector, None, *activation),
            Self::Truncate(dim) => {
                vector.truncate(*dim);
                vector
            }
            Self::Normalize => {
                let length: f64 = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
                vector.iter().map(|&x| (f64::from(x) / length.max(1e-12)) as f32).collect()
            }
        }
    }
}

/// Pools the states `[tokens, hidden]` of one text but the first `skipped`, as sentence-transformers defines it; zeros where none
/// is left.
fn pool(states: &[f32], hidden: usize, pooling: Pooling, skipped: usize) -> Vec<f32> {
    let all = states.len() / hidden;
    let tokens = all.saturating_sub(skipped);
    if tokens == 0 {
        return vec![0.0; hidden];
    }
    let of_column = |column: usize| {
        let column = states.iter().skip(column).step_by(hidden).skip(skipped);
        let values: Vec<f64> = column.map(|&x| f64::from(x)).collect();
        let sum: f64 = values.iter().sum();
        let pooled = match pooling {
            Pooling::Cls => values.first().copied().unwrap_or(0.0),
            Pooling::LastToken => values.last().copied().unwrap_or(0.0),
            Pooling::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Pooling::Mean => sum / tokens as f64,
            Pooling::MeanSqrtLen => sum / (tokens as f64).sqrt(),
            Pooling::WeightedMean => {
                let positions = skipped + 1..=all;
                let weighted = values.iter().zip(positions.clone()).map(|(x, weight)| x * weight as f64);
                weighted.sum::<f64>() / positions.sum::<usize>() as f64
            }
        };
        pooled as f32
    };
    (0..hidden).map(of_column).collect()
}

fn values(tensors: &Tensors, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncoderError> {
    Ok(tensors.get(name, shape)?.flatten_all()?.to_vec1()?)
}

fn rounded(values: Vec<f64>) -> Vec<f32> {
    values.into_iter().map(|x| x as f32).collect()
}
