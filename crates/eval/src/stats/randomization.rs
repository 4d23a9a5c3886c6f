//! Fisher's randomisation test on pairs.

use rayon::prelude::*;
use toller_ir::SplitMix64;

use super::{check_samples, differences};
use crate::error::StatsError;

/// With at most this many pairs that differ, all ways to swap them are counted: 2^16 of them.
const EXACT_UP_TO_PAIRS: usize = 16;

/// Pairs whose swaps one random number decides.
const WORD: usize = u64::BITS as usize;

/// Permutations that are summed side by side: the additions of one wait for each other.
const LANES: usize = 8;

/// The result of a randomisation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomizationTest {
    /// Mean of other - baseline.
    pub mean_difference: f64,
    /// The two-sided p-value.
    pub p_value: f64,
    /// How many ways to swap were looked at.
    pub permutations: u64,
    /// Whether these are all permutations, so that the p-value is exact.
    pub exact: bool,
}

/// The two-sided randomisation test (Fisher 1935; Smucker et al. 2007) of the hypothesis that `baseline`
/// and `other` are the same system: the share of the ways to swap the two values of each pair whose
/// mean difference is at least as large as the one observed.
///
/// With at most 16 pairs that differ, all ways are counted. With more, `permutations` random ones are
/// drawn, the same for the same `seed`, and the observed one is counted with them (Phipson and Smyth
/// 2010), so that p is never 0.
///
/// # Errors
/// If the slices differ in length, hold fewer than two values or one that is not finite, or `permutations` is
/// 0 or above [`MOST_SAMPLES`](super::MOST_SAMPLES).
pub fn randomization_test(
    baseline: &[f64],
    other: &[f64],
    permutations: u64,
    seed: u64,
) -> Result<RandomizationTest, StatsError> {
    check_samples("permutations", permutations)?;
    let differences = differences(baseline, other)?;
    let mean_difference = differences.iter().sum::<f64>() / differences.len() as f64;
    let swappable: Vec<f64> = differences.into_iter().filter(|difference| *difference != 0.0).collect();
    // A sum in another order may miss the observed one by its rounding.
    let rounding = 1e-12 * swappable.iter().map(|difference| difference.abs()).sum::<f64>();
    let observed = swappable.iter().sum::<f64>().abs() - rounding;

    let exact = swappable.len() <= EXACT_UP_TO_PAIRS;
    let permutations = if exact { 1 << swappable.len() } else { permutations };
    let words = swappable.len().div_ceil(WORD) as u64;
    let swaps = |permutation: u64, word: u64| match exact {
        true => permutation,
        false => SplitMix64::after(seed, permutation * words + word).draw(),
    };
    let as_large_of = |group: u64| {
        let first = group * LANES as u64;
        let sums = sums_side_by_side(&swappable, |lane, word| swaps(first + lane, word));
        sums.into_iter().zip(first..permutations).filter(|(sum, _)| sum.abs() >= observed).count() as u64
    };
    let groups = permutations.div_ceil(LANES as u64);
    let as_large: u64 = (0..groups).into_par_iter().map(as_large_of).sum();
    let p_value = if exact {
        as_large as f64 / permutations as f64
    } else {
        (as_large + 1) as f64 / (permutations + 1) as f64
    };
    Ok(RandomizationTest { mean_difference, p_value, permutations, exact })
}

/// The sums of some permutations, each in the order of `differences`. A set bit of `swaps`, which takes the
/// permutation and the word, changes the sign of a difference.
fn sums_side_by_side(differences: &[f64], swaps: impl Fn(u64, u64) -> u64) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (word, differences) in differences.chunks(WORD).enumerate() {
        let mut swaps: [u64; LANES] = std::array::from_fn(|lane| swaps(lane as u64, word as u64));
        for difference in differences {
            for (sum, swaps) in sums.iter_mut().zip(&mut swaps) {
                *sum += f64::from_bits(difference.to_bits() ^ (*swaps << 63));
                *swaps >>= 1;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::randomization_test;
    use crate::error::StatsError;

    #[test]
    fn exact_where_all_swaps_can_be_counted() -> Result<(), StatsError> {
        // Of 2^4 ways, only the observed one and its mirror image reach a sum of 10.
        let test = randomization_test(&[0.0; 4], &[1.0, 2.0, 3.0, 4.0], 1, 0)?;
        assert!(test.exact);
        assert_eq!((test.permutations, test.p_value), (16, 2.0 / 16.0));
        // 1 + 2 + 3 - 4 = 2: sums of 0, 2, 4, 6, 8, 10 occur 2, 4, 4, 2, 2 and 2 times of 16.
        let test = randomization_test(&[0.0, 0.0, 0.0, 4.0, 5.0], &[1.0, 2.0, 3.0, 0.0, 5.0], 1, 0)?;
        assert_eq!(test.p_value, 14.0 / 16.0);
        assert_eq!(randomization_test(&[1.0, 2.0], &[1.0, 2.0], 1, 0)?.p_value, 1.0);
        Ok(())
    }

    #[test]
    fn sampled_close_to_exact() -> Result<(), StatsError> {
        // Twenty differences of the same size: p = P(|2B - 20| >= 10) for B ~ Binomial(20, 1/2).
        let other: Vec<f64> = (0..20).map(|i| if i < 15 { 1.0 } else { -1.0 }).collect();
        let expected = 2.0 * (15504.0 + 4845.0 + 1140.0 + 190.0 + 20.0 + 1.0) / f64::from(1 << 20);
        let test = randomization_test(&[0.0; 20], &other, 100_000, 7)?;
        assert!(!test.exact);
        assert!((test.p_value - expected).abs() < 0.003, "{} is far from {expected}", test.p_value);
        assert_eq!(test, randomization_test(&[0.0; 20], &other, 100_000, 7)?);
        Ok(())
    }

    #[test]
    fn nothing_is_tested_without_permutations() {
        for given in [0, u64::MAX] {
            let refused = randomization_test(&[0.0; 20], &[1.0; 20], given, 1);
            assert_eq!(refused, Err(StatsError::Samples { what: "permutations", given }));
        }
    }

    #[test]
    fn more_pairs_than_bits_of_a_word() -> Result<(), StatsError> {
        let other = vec![1.0; 200];
        let test = randomization_test(&[0.0; 200], &other, 999, 1)?;
        assert_eq!(test.p_value, 1.0 / 1000.0);
        Ok(())
    }
}
