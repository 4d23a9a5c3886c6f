//! From token states to one vector a sequence.

use toller_ir::named;

named! {
    /// How the token states of a sequence become one vector. The names are sentence-transformers'.
    pub enum Pooling: "a pooling" {
        /// The first token's state.
        Cls = "cls",
        /// The mean of all tokens' states.
        Mean = "mean",
        /// The largest value of each column.
        Max = "max",
        /// The sum divided by the square root of the number of tokens.
        MeanSqrtLen = "mean_sqrt_len_tokens",
        /// The mean weighted by the position, 1 for the first token.
        WeightedMean = "weightedmean",
        /// The last token's state.
        LastToken = "lasttoken",
    }
}

impl Pooling {
    /// Pools the states `[tokens, width]` of one sequence, the first at position `first`, into `out`
    /// `[width]`. Without states `out` becomes zero.
    pub(crate) fn pool(self, states: &[f32], first: usize, out: &mut [f32]) {
        let width = out.len();
        let rows = states.chunks_exact(width.max(1));
        let count = rows.len();
        out.fill(0.0);
        if count == 0 {
            return;
        }
        match self {
            Self::Cls => out.copy_from_slice(&states[..width]),
            Self::LastToken => out.copy_from_slice(&states[(count - 1) * width..]),
            Self::Max => {
                out.copy_from_slice(&states[..width]);
                for row in rows {
                    for (out, &x) in out.iter_mut().zip(row) {
                        // `f32::max` drops NaN.
                        *out = if x > *out || x.is_nan() { x } else { *out };
                    }
                }
            }
            Self::Mean | Self::MeanSqrtLen => {
                for row in rows {
                    out.iter_mut().zip(row).for_each(|(out, &x)| *out += x);
                }
                let divisor = if self == Self::Mean { count as f32 } else { (count as f32).sqrt() };
                out.iter_mut().for_each(|out| *out /= divisor);
            }
            Self::WeightedMean => {
                for (position, row) in rows.enumerate() {
                    let weight = (first + position + 1) as f32;
                    out.iter_mut().zip(row).for_each(|(out, &x)| *out += weight * x);
                }
                let total = (count * (2 * first + count + 1) / 2) as f32;
                out.iter_mut().for_each(|out| *out /= total);
            }
        }
    }

    /// The same in f64, of one column of the states.
    pub(crate) fn reference(self, column: &[f64], first: usize) -> f64 {
        let (count, sum) = (column.len() as f64, column.iter().sum::<f64>());
        match self {
            _ if column.is_empty() => 0.0,
            Self::Cls => column[0],
            Self::LastToken => column[column.len() - 1],
            Self::Max => column.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Mean => sum / count,
            Self::MeanSqrtLen => sum / count.sqrt(),
            Self::WeightedMean => {
                let weights = || (first + 1..).map(|position| position as f64).take(column.len());
                column.iter().zip(weights()).map(|(x, weight)| x * weight).sum::<f64>()
                    / weights().sum::<f64>()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pooling;

    #[test]
    fn every_pooling_by_hand() {
        let states = [1_f32, -4.0, 3.0, 2.0, 5.0, 0.5];
        let sqrt2 = 2_f32.sqrt();
        for (pooling, of_two, after_one) in [
            (Pooling::Cls, [1.0, -4.0], [3.0, 2.0]),
            (Pooling::Mean, [2.0, -1.0], [4.0, 1.25]),
            (Pooling::Max, [3.0, 2.0], [5.0, 2.0]),
            (Pooling::MeanSqrtLen, [4.0 / sqrt2, -2.0 / sqrt2], [8.0 / sqrt2, 2.5 / sqrt2]),
            (Pooling::WeightedMean, [7.0 / 3.0, 0.0], [21.0 / 5.0, 5.5 / 5.0]),
            (Pooling::LastToken, [3.0, 2.0], [5.0, 0.5]),
        ] {
            let pool = |states: &[f32], first: usize| {
                let mut out = [9.0; 2];
                pooling.pool(states, first, &mut out);
                for (column, &pooled) in out.iter().enumerate() {
                    let column: Vec<f64> =
                        states.iter().skip(column).step_by(2).map(|&x| f64::from(x)).collect();
                    assert!(
                        (pooling.reference(&column, first) - f64::from(pooled)).abs() < 1e-6,
                        "{pooling}"
                    );
                }
                out
            };
            assert_eq!(pool(&states[..4], 0), of_two, "{pooling}");
            assert_eq!(pool(&states[2..], 1), after_one, "{pooling} after one token");
            assert_eq!(pool(&[], 3), [0.0, 0.0], "{pooling} of nothing");
            assert_eq!(pooling.name().parse(), Ok(pooling));
        }
    }
}
