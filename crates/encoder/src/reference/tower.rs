//! A tower of a dual encoder computed slowly.

use toller_nn::{Activation, Pooling};

use super::{Dense, Transformer, pool};
use crate::config::TransformerConfig;
use crate::layout::{Layout, Module};
use crate::text_encoder::projection_tensor;
use crate::{EncoderError, TextEncoder};
use toller_checkpoint::Tensors;
use toller_tokenizer::Tokens;

/// A tower with its weights, for comparison.
pub struct ReferenceEncoder {
    transformer: Transformer,
    poolings: Vec<Pooling>,
    /// Tokens at the start of every text that are not pooled.
    unpooled: usize,
    head: Vec<Step>,
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
        let (transformer, tensors) = Transformer::load(&layout.transformer)?;
        Ok(Self {
            poolings: fast.poolings().to_vec(),
            unpooled: fast.unpooled(),
            head: head(layout, fast, &transformer.config, &tensors)?,
            transformer,
        })
    }

    /// The vector of a tokenized text.
    ///
    /// # Errors
    /// When a token has no embedding.
    pub fn encode(&self, tokens: &Tokens) -> Result<Vec<f32>, EncoderError> {
        let states = self.transformer.forward(tokens)?; // [tokens, hidden]
        let hidden = self.transformer.config.hidden;
        let pool = |&pooling: &Pooling| pool(&states, hidden, pooling, self.unpooled);
        let pooled = self.poolings.iter().flat_map(pool).collect(); // [poolings * hidden]
        Ok(self.head.iter().fold(pooled, |vector, step| step.forward(vector)))
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
