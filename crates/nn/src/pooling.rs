//! From token states to one vector a sequence.

use std::fmt;

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use crate::custom_op::contiguous_f32;
use crate::profile::{Operation, timer};
use crate::sequences::Sequences;

/// How the token states of a sequence become one vector; the names are sentence-transformers'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The first token's state.
    Cls,
    /// The mean of all tokens' states.
    Mean,
    /// The largest value of each column.
    Max,
    /// The sum divided by the square root of the number of tokens.
    MeanSqrtLen,
    /// The mean weighted by the position, 1 for the first token.
    WeightedMean,
    /// The last token's state.
    LastToken,
}

impl Pooling {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Cls, Self::Mean, Self::Max, Self::MeanSqrtLen, Self::WeightedMean, Self::LastToken];

    /// The name in sentence-transformers' configurations.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cls => "cls",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::MeanSqrtLen => "mean_sqrt_len_tokens",
            Self::WeightedMean => "weightedmean",
            Self::LastToken => "lasttoken",
        }
    }

    /// The pooling of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pooling| pooling.name() == name)
    }
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Pools the states `[tokens, hidden]` of a flat batch to `[sequences, hidden]`. A sequence without
/// tokens gives zeros.
///
/// # Errors
/// When the shapes do not agree or `states` is no contiguous f32 tensor on the CPU.
pub fn pool(states: &Tensor, sequences: &Sequences, pooling: Pooling) -> Result<Tensor> {
    pool_after(states, sequences, pooling, 0)
}

/// Pools as [`pool`] does, but leaves out the first `skipped` tokens of every sequence; the weights of
/// [`Pooling::WeightedMean`] stay those of the tokens' positions in the whole sequence. A sequence of no
/// more tokens gives zeros.
///
/// # Errors
/// As for [`pool`].
pub fn pool_after(
    states: &Tensor,
    sequences: &Sequences,
    pooling: Pooling,
    skipped: usize,
) -> Result<Tensor> {
    let (tokens, _) = states.dims2()?;
    if tokens != sequences.tokens() {
        bail!("pooling: {tokens} states for {} tokens", sequences.tokens());
    }
    states.apply_op1_no_bwd(&Pool { sequences, pooling, skipped })
}

struct Pool<'a> {
    sequences: &'a Sequences,
    pooling: Pooling,
    skipped: usize,
}

impl CustomOp1 for Pool<'_> {
    fn name(&self) -> &'static str {
        "pool"
    }

    fn cpu_fwd(&self, states: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let states = contiguous_f32("pool", states, layout)?;
        let _timer = timer(Operation::Pooling, 0);
        let (_, hidden) = layout.shape().dims2()?;
        let mut out = vec![0.0; self.sequences.count() * hidden];
        if hidden > 0 {
            for (tokens, out) in self.sequences.ranges().zip(out.chunks_exact_mut(hidden)) {
                let start = (tokens.start + self.skipped).min(tokens.end);
                let states = &states[start * hidden..tokens.end * hidden];
                pool_one(states, hidden, self.pooling, self.skipped, out);
            }
        }
        Ok((CpuStorage::F32(out), Shape::from((self.sequences.count(), hidden))))
    }
}

/// Pools the states of one sequence, of which the first is at position `first`, into `out`, which is zero.
fn pool_one(states: &[f32], hidden: usize, pooling: Pooling, first: usize, out: &mut [f32]) {
    let rows = states.chunks_exact(hidden);
    let count = rows.len();
    if count == 0 {
        return;
    }
    match pooling {
        Pooling::Cls => out.copy_from_slice(&states[..hidden]),
        Pooling::LastToken => out.copy_from_slice(&states[(count - 1) * hidden..]),
        Pooling::Max => {
            out.copy_from_slice(&states[..hidden]);
            for row in rows {
                out.iter_mut().zip(row).for_each(|(out, &x)| *out = out.max(x));
            }
        }
        Pooling::Mean | Pooling::MeanSqrtLen => {
            for row in rows {
                out.iter_mut().zip(row).for_each(|(out, &x)| *out += x);
            }
            let divisor = if pooling == Pooling::Mean { count as f32 } else { (count as f32).sqrt() };
            out.iter_mut().for_each(|out| *out /= divisor);
        }
        Pooling::WeightedMean => {
            for (position, row) in rows.enumerate() {
                let weight = (first + position + 1) as f32;
                out.iter_mut().zip(row).for_each(|(out, &x)| *out += weight * x);
            }
            let total = (count * (2 * first + count + 1) / 2) as f32;
            out.iter_mut().for_each(|out| *out /= total);
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::{Pooling, pool, pool_after};
    use crate::Sequences;

    #[test]
    fn every_pooling_by_hand() -> candle_core::Result<()> {
        let states = Tensor::new(&[[1_f32, -4.0], [3.0, 2.0], [5.0, 0.5]], &Device::Cpu)?;
        let sequences = Sequences::from_lengths([2, 0, 1]);
        let sqrt2 = 2_f32.sqrt();
        for (pooling, first) in [
            (Pooling::Cls, [1.0, -4.0]),
            (Pooling::Mean, [2.0, -1.0]),
            (Pooling::Max, [3.0, 2.0]),
            (Pooling::MeanSqrtLen, [4.0 / sqrt2, -2.0 / sqrt2]),
            (Pooling::WeightedMean, [7.0 / 3.0, 0.0]),
            (Pooling::LastToken, [3.0, 2.0]),
        ] {
            let pooled = pool(&states, &sequences, pooling)?.to_vec2::<f32>()?;
            assert_eq!(pooled, [first, [0.0, 0.0], [5.0, 0.5]], "{pooling}");
            assert_eq!(Pooling::from_name(pooling.name()), Some(pooling));
        }
        assert!(pool(&states, &Sequences::from_lengths([2]), Pooling::Mean).is_err());
        let sequences = Sequences::from_lengths([3]);
        for (pooling, expected) in [
            (Pooling::Cls, [3.0, 2.0]),
            (Pooling::Mean, [4.0, 1.25]),
            (Pooling::Max, [5.0, 2.0]),
            (Pooling::MeanSqrtLen, [8.0 / sqrt2, 2.5 / sqrt2]),
            (Pooling::WeightedMean, [21.0 / 5.0, 5.5 / 5.0]),
            (Pooling::LastToken, [5.0, 0.5]),
        ] {
            let pooled = pool_after(&states, &sequences, pooling, 1)?.to_vec2::<f32>()?;
            assert_eq!(pooled, [expected], "{pooling} after one token");
            assert_eq!(pool_after(&states, &sequences, pooling, 3)?.to_vec2::<f32>()?, [[0.0, 0.0]]);
        }
        Ok(())
    }
}
