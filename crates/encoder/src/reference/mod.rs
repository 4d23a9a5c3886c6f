//! Models computed slowly: one text at a time, every operation by `compute::reference` with sums in f64, nothing fused.
//!
//! They share with the fast ones what decides the meaning (configuration, names, layout) and no arithmetic. States are
//! rounded to f32 between operations, as the operations' interfaces have it: some 1e-7 of a vector's length.

mod cross_encoder;
mod tower;
mod transformer;

use toller_nn::reference::{self, layer_norm};
use toller_nn::{Activation, Pooling};

pub use self::cross_encoder::{ReferenceCrossEncoder, ReferenceLogits};
pub use self::tower::ReferenceEncoder;
use self::transformer::Transformer;
use crate::EncoderError;
use crate::config::TransformerConfig;
use toller_checkpoint::Tensors;

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
