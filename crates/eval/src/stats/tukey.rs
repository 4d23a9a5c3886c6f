//! Tukey's honestly significant difference by randomisation: all pairs of several systems at once.

use rayon::prelude::*;
use toller_ir::SplitMix64;

use super::check_samples;
use crate::error::StatsError;

/// Permutations that one thread makes in a row. The p-values do not depend on the number of threads.
const PERMUTATIONS: u64 = 256;

/// Random numbers from the first of a chunk to the first of the next: more than a chunk draws.
const DRAWS: u64 = 1 << 40;

/// The p-value of each pair of systems, `[systems, systems]`.
///
/// `values` holds each system's values on the same queries. `permutations` times, the systems' values are
/// permuted on every query. The p-value of a pair is the share of permutations in which the range of the
/// means is at least the pair's difference (Carterette 2012); the observed values are counted too, so p is
/// never 0. The p-values hold for all pairs together and need no further correction.
///
/// # Errors
/// If the systems have different numbers of values, fewer than two, or one that is not finite, or
/// `permutations` is 0 or above [`MOST_SAMPLES`](super::MOST_SAMPLES).
pub fn tukey_test(values: &[&[f64]], permutations: u64, seed: u64) -> Result<Vec<Vec<f64>>, StatsError> {
    check_samples("permutations", permutations)?;
    let systems = values.len();
    let queries = values.first().map_or(0, |first| first.len());
    if let Some(other) = values.iter().find(|other| other.len() != queries) {
        return Err(StatsError::Unpaired { left: queries, right: other.len() });
    }
    if queries < 2 {
        return Err(StatsError::TooFewPairs { pairs: queries });
    }
    if values.iter().any(|values| values.iter().any(|value| !value.is_finite())) {
        return Err(StatsError::NotFinite);
    }
    let sums: Vec<f64> = values.iter().map(|values| values.iter().sum()).collect();
    // Queries on which all systems are equal shift all sums alike: they are left out. By query, so that a
    // permutation reads the memory in order.
    let mut by_query: Vec<f64> = Vec::with_capacity(systems * queries);
    for query in 0..queries {
        let row = values.iter().map(|values| values[query]);
        let first = values[0][query];
        if row.clone().any(|value| value != first) {
            by_query.extend(row);
        }
    }
    let rounding = 1e-12 * by_query.iter().map(|value| value.abs()).sum::<f64>();
    let of_chunk = |chunk: u64| {
        let mut random = SplitMix64::after(seed, chunk.wrapping_mul(DRAWS));
        let mut rows = by_query.clone();
        let count = PERMUTATIONS.min(permutations - chunk * PERMUTATIONS);
        (0..count).map(move |_| range_of_permutation(&mut rows, systems, &mut random) + rounding)
    };
    let chunks = permutations.div_ceil(PERMUTATIONS);
    let mut ranges: Vec<f64> = (0..chunks).into_par_iter().flat_map_iter(of_chunk).collect();
    ranges.par_sort_unstable_by(f64::total_cmp);
    let p = |difference: f64| {
        let smaller = ranges.partition_point(|range| *range < difference) as u64;
        (permutations - smaller + 1) as f64 / (permutations + 1) as f64
    };
    Ok(sums.iter().map(|a| sums.iter().map(|b| p((a - b).abs())).collect()).collect())
}

/// Permutes the values of each query, and gives the range of the systems' sums.
fn range_of_permutation(rows: &mut [f64], systems: usize, random: &mut SplitMix64) -> f64 {
    let mut sums = vec![0.0; systems];
    for row in rows.chunks_exact_mut(systems) {
        for last in (1..systems).rev() {
            row.swap(last, random.below(last + 1));
        }
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += *value;
        }
    }
    let highest = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = sums.iter().copied().fold(f64::INFINITY, f64::min);
    highest - lowest
}

#[cfg(test)]
mod tests {
    use super::tukey_test;
    use crate::error::StatsError;
    use crate::stats::randomization_test;

    #[test]
    fn two_systems_are_a_randomization_test() -> Result<(), StatsError> {
        let a: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 11) / 11.0).collect();
        let b: Vec<f64> = (0..40).map(|i| f64::from(i * 5 % 13) / 11.0).collect();
        let p = tukey_test(&[&a, &b], 50_000, 5)?;
        let expected = randomization_test(&a, &b, 50_000, 6)?.p_value;
        assert!((p[0][1] - expected).abs() < 0.01, "{} is far from {expected}", p[0][1]);
        assert_eq!((p[0][1], p[0][0]), (p[1][0], 1.0));
        Ok(())
    }

    #[test]
    fn more_systems_need_larger_differences() -> Result<(), StatsError> {
        let a: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 11) / 11.0).collect();
        let b: Vec<f64> = (0..40).map(|i| f64::from(i * 5 % 13) / 11.0).collect();
        let c: Vec<f64> = (0..40).map(|i| f64::from(i * 3 % 10) / 11.0).collect();
        let (two, three) = (tukey_test(&[&a, &b], 20_000, 5)?, tukey_test(&[&a, &b, &c], 20_000, 5)?);
        assert!(three[0][1] > two[0][1]);
        assert!(matches!(tukey_test(&[&a, &b[1..]], 9, 5), Err(StatsError::Unpaired { .. })));
        assert!(matches!(tukey_test(&[&a, &b], 0, 5), Err(StatsError::Samples { given: 0, .. })));
        Ok(())
    }
}
