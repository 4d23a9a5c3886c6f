//! A cross-encoder computed slowly.

use toller_nn::Activation;

use super::{Dense, Norm, Transformer, pool};
use crate::EncoderError;
use crate::cross_encoder::HeadPlan;
use crate::layout::Layout;
use toller_checkpoint::Tensors;
use toller_tokenizer::Tokens;

/// A cross-encoder with its weights, for comparison.
pub struct ReferenceCrossEncoder {
    transformer: Transformer,
    plan: HeadPlan,
    dense: Dense,
    norm: Option<Norm>,
    output: Dense,
}

/// What a pair gives, by label.
pub struct ReferenceLogits {
    /// The logits.
    pub logits: Vec<f32>,
    /// The length of the features before the last layer times that of the label's weights: the largest logit, but for the
    /// bias, that such features can have. What is relative to the features in an error is relative to this in the logit,
    /// which may be near zero itself.
    pub limits: Vec<f64>,
}

impl ReferenceCrossEncoder {
    /// Loads the weights of `layout` a second time, with a head of `plan` to so many labels.
    pub(crate) fn load(layout: &Layout, plan: HeadPlan, labels: usize) -> Result<Self, EncoderError> {
        let (transformer, inside) = Transformer::load(&layout.transformer)?;
        let (names, hidden) = (plan.names, transformer.config.hidden);
        let load_dense = |tensors: &Tensors| Dense::load(tensors, names.dense, hidden, hidden, plan.bias);
        let within = names.dense_is_inside.then(|| load_dense(&inside)).transpose()?;
        let outside = inside.outside();
        let norm = names.norm.map(|name| Norm::load(&outside, name, &transformer.config));
        Ok(Self {
            dense: match within {
                Some(dense) => dense,
                None => load_dense(&outside)?,
            },
            norm: norm.transpose()?,
            output: Dense::load(&outside, names.output, labels, hidden, true)?,
            transformer,
            plan,
        })
    }

    /// The logits of a tokenized pair.
    ///
    /// # Errors
    /// When a token has no embedding.
    pub fn logits(&self, pair: &Tokens) -> Result<ReferenceLogits, EncoderError> {
        let states = self.transformer.forward(pair)?; // [tokens, hidden]
        let pooled = pool(&states, self.transformer.config.hidden, self.plan.pooling, 0); // [hidden]
        let mut features = self.dense.forward(&pooled, None, self.plan.activation); // [hidden]
        if let Some(norm) = &self.norm {
            features = norm.forward(&features);
        }
        let weights = self.output.weight.chunks_exact(self.output.depth);
        Ok(ReferenceLogits {
            logits: self.output.forward(&features, None, Activation::Identity),
            limits: weights.map(|weights| length(&features) * length(weights)).collect(),
        })
    }
}

fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}
