//! Poolings of the sequences of a batch.

use candle_core::{Result, Tensor};

use super::batch::CandleBatch;
use crate::Pooling;

/// The states of each sequence but the first `skipped` as one row for each pooling, concatenated:
/// `[sequences, poolings * width]`.
pub(super) fn pool(x: &Tensor, batch: &CandleBatch, poolings: &[Pooling], skipped: usize) -> Result<Tensor> {
    let groups = batch.groups.iter().map(|group| {
        let left = group.length.saturating_sub(skipped);
        if left == 0 {
            let shape = (group.sequences.len(), poolings.len() * x.dim(1)?);
            return Tensor::zeros(shape, x.dtype(), x.device());
        }
        let states = batch.gather(x, group)?.narrow(1, skipped, left)?;
        let rows = poolings.iter().map(|&pooling| of_one_length(pooling, &states, skipped));
        Tensor::cat(&rows.collect::<Result<Vec<_>>>()?, 1)
    });
    batch.sequences_in_order(&groups.collect::<Result<Vec<_>>>()?)
}

/// One row for each sequence of `states` `[sequences, tokens, width]`, the first token of each at position
/// `first`.
fn of_one_length(pooling: Pooling, states: &Tensor, first: usize) -> Result<Tensor> {
    let tokens = states.dim(1)?;
    let mean_times = |factor: f64| states.sum(1)?.affine(factor / tokens as f64, 0.0);
    match pooling {
        Pooling::Cls => states.narrow(1, 0, 1)?.squeeze(1),
        Pooling::LastToken => states.narrow(1, tokens - 1, 1)?.squeeze(1),
        Pooling::Max => states.max(1),
        Pooling::Mean => mean_times(1.0),
        Pooling::MeanSqrtLen => mean_times((tokens as f64).sqrt()),
        Pooling::WeightedMean => {
            let weights: Vec<f64> = (first + 1..).map(|position| position as f64).take(tokens).collect();
            let total: f64 = weights.iter().sum();
            let weights = Tensor::from_vec(weights, (tokens, 1), states.device())?;
            let weighted = states.broadcast_mul(&weights.to_dtype(states.dtype())?)?;
            weighted.sum(1)?.affine(1.0 / total, 0.0)
        }
    }
}
