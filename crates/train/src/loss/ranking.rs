//! Losses over the pairs of a query's candidates that have different labels.

use std::f64::consts::LN_2;

/// How much a pair counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairWeights {
    /// Each pair 1 (Burges et al. 2005: RankNet).
    Equal,
    /// By what the pair's order changes in nDCG (Wang et al. 2018: NDCG-Loss2++, with their factor 10).
    Ndcg,
}

/// The factor of NDCG-Loss2 in NDCG-Loss2++.
const MU: f64 = 10.0;

/// -log2 sigmoid(better - worse), summed over the pairs of candidates with different labels, each with its
/// weight, and the number of pairs. The logits become the gradient of the sum. Weights count as constants.
pub(super) fn pairs(logits: &mut [f64], labels: &[f64], weights: PairWeights) -> (f64, usize) {
    let count = logits.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    let mut ranks = vec![0; count];
    order.iter().enumerate().for_each(|(rank, &candidate)| ranks[candidate] = rank + 1);
    let gains = gains(labels);
    let weight = |a: usize, b: usize| match weights {
        PairWeights::Equal => 1.0,
        PairWeights::Ndcg => {
            let (a_rank, b_rank) = (ranks[a], ranks[b]);
            let apart = a_rank.abs_diff(b_rank);
            let between = inverse_discount(apart) - inverse_discount(apart + 1);
            let swapped = (inverse_discount(a_rank) - inverse_discount(b_rank)).abs();
            (MU * between + swapped) * (gains[a] - gains[b]).abs()
        }
    };
    let (mut loss, mut found, mut gradient) = (0.0, 0, vec![0.0; count]);
    for better in 0..count {
        for worse in (0..count).filter(|&worse| labels[better] > labels[worse]) {
            let (weight, difference) = (weight(better, worse) / LN_2, logits[better] - logits[worse]);
            loss += weight * ((-difference).max(0.0) + libm::log1p(libm::exp(-difference.abs())));
            let slope = weight / (1.0 + libm::exp(difference));
            gradient[better] -= slope;
            gradient[worse] += slope;
            found += 1;
        }
    }
    logits.copy_from_slice(&gradient);
    (loss, found)
}

/// The share of each candidate's gain in the largest DCG.
fn gains(labels: &[f64]) -> Vec<f64> {
    let gain = |label: &f64| libm::exp2(label.max(0.0)) - 1.0;
    let mut ideal: Vec<f64> = labels.iter().map(gain).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let largest: f64 = ideal.iter().enumerate().map(|(place, gain)| gain * inverse_discount(place + 1)).sum();
    labels.iter().map(|label| gain(label) / largest.max(1e-10)).collect()
}

/// What a gain at a rank, from 1, counts in DCG.
fn inverse_discount(rank: usize) -> f64 {
    1.0 / libm::log2(1.0 + rank as f64)
}

#[cfg(test)]
mod tests {
    use super::{PairWeights, pairs};

    #[test]
    fn losses_are_those_of_sentence_transformers() {
        // LambdaLoss of sentence-transformers 6.2 with NoWeightingScheme and NDCGLoss2PPScheme, and torch's
        // gradients of the logits.
        let (logits, labels) = ([0.3, -1.2, 0.9, 0.1], [0.0, 1.0, 0.5, 0.0]);
        for (weights, loss, gradient) in EXPECTED {
            let mut found = logits;
            let (sum, count) = pairs(&mut found, &labels, weights);
            assert!((sum / count as f64 - loss).abs() < 1e-6 * loss, "{weights:?}: {}", sum / count as f64);
            for (found, expected) in found.iter().zip(gradient) {
                assert!(
                    (found / count as f64 - expected).abs() < 1e-6,
                    "{weights:?}: {found} for {expected}"
                );
            }
        }
    }

    const EXPECTED: [(PairWeights, f64, [f64; 4]); 2] = [
        (PairWeights::Equal, 1.808_138_25, [0.338_144_12, -0.719_706_53, 0.065_363_88, 0.316_198_53]),
        (PairWeights::Ndcg, 2.519_742_25, [0.418_632_51, -1.108_970_88, -0.038_730_86, 0.729_069_17]),
    ];
}
