//! The paired bootstrap: a test and an interval of the mean difference that assume no distribution.

use rayon::prelude::*;
use toller_ir::SplitMix64;

use super::distributions::{normal_cdf, normal_quantile};
use super::t_test::Interval;
use super::{check_samples, differences};
use crate::error::StatsError;

/// The result of a paired bootstrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapTest {
    /// Mean of other - baseline.
    pub mean_difference: f64,
    /// The two-sided achieved significance level.
    pub p_value: f64,
    /// The interval of the mean difference, corrected for bias and acceleration (Efron 1987).
    pub interval: Interval,
    /// How many samples were drawn.
    pub resamples: u64,
}

/// The paired bootstrap test (Sakai 2006): `resamples` samples of the queries are drawn with replacement. The
/// p-value is the share of samples whose t statistic about the observed mean is at least as far from zero as
/// the observed one; the observed sample is counted too, so p is never 0. The means of the same samples give
/// the interval with `confidence`, in (0, 1). Equal seeds give equal results.
///
/// # Errors
/// If the slices differ in length, hold fewer than two values or one that is not finite, or the number
/// of samples is 0 or above [`MOST_SAMPLES`](super::MOST_SAMPLES).
pub fn bootstrap_test(
    baseline: &[f64],
    other: &[f64],
    resamples: u64,
    confidence: f64,
    seed: u64,
) -> Result<BootstrapTest, StatsError> {
    check_samples("resamples", resamples)?;
    let differences = differences(baseline, other)?;
    let count = differences.len();
    let mean_difference = differences.iter().sum::<f64>() / count as f64;
    let centred: Vec<f64> = differences.iter().map(|difference| difference - mean_difference).collect();
    let squares: f64 = centred.iter().map(|difference| difference * difference).sum();
    let observed = squared_t(mean_difference, squares, count);
    let sample = |number: u64| {
        let mut random = SplitMix64::after(seed, number * count as u64);
        let (mut sum, mut sum_of_squares) = (0.0, 0.0);
        for _ in 0..count {
            let difference = centred[random.below(count)];
            sum += difference;
            sum_of_squares += difference * difference;
        }
        let mean = sum / count as f64;
        // About the sample's own mean; rounding must not make the sum negative.
        let squares = (sum_of_squares - mean * sum).max(0.0);
        // A sum in another order may miss the observed one by its rounding.
        (mean_difference + mean, squared_t(mean, squares, count) >= observed * (1.0 - 1e-12))
    };
    let (mut means, is_as_far): (Vec<f64>, Vec<bool>) = (0..resamples).into_par_iter().map(sample).unzip();
    let as_far = is_as_far.into_iter().filter(|is_as_far| *is_as_far).count() as u64;
    means.sort_unstable_by(f64::total_cmp);
    Ok(BootstrapTest {
        mean_difference,
        p_value: (as_far + 1) as f64 / (resamples + 1) as f64,
        interval: corrected_interval(&means, &centred, mean_difference, confidence),
        resamples,
    })
}

/// The square of the t statistic of a mean, given the sum of squares about the mean.
fn squared_t(mean: f64, squares: f64, count: usize) -> f64 {
    if mean == 0.0 { 0.0 } else { mean * mean * count as f64 * (count - 1) as f64 / squares }
}

/// The BCa interval of a mean from the sorted means of the samples.
fn corrected_interval(means: &[f64], centred: &[f64], observed: f64, confidence: f64) -> Interval {
    let cubes: f64 = centred.iter().map(|difference| difference.powi(3)).sum();
    let squares: f64 = centred.iter().map(|difference| difference * difference).sum();
    if squares == 0.0 {
        return Interval { low: observed, high: observed };
    }
    // Leaving out one query moves a mean by its difference, so the jackknife has a closed form.
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    // A measure has few distinct values. A mean of a sample often equals the observed mean, up to rounding.
    let rounding = 1e-12 * squares.sqrt();
    let below = means.partition_point(|mean| *mean < observed - rounding);
    let up_to = means.partition_point(|mean| *mean <= observed + rounding);
    let share = (below + up_to) as f64 / 2.0 / means.len() as f64;
    // A sample that is only on one side of the observed mean has no finite bias.
    let edge = 0.5 / means.len() as f64;
    let bias = normal_quantile(share.clamp(edge, 1.0 - edge));
    let tail = normal_quantile((1.0 - confidence) / 2.0);
    let end = |tail: f64| {
        let sum = bias + tail;
        quantile(means, normal_cdf(bias + sum / (1.0 - acceleration * sum)))
    };
    Interval { low: end(tail), high: end(-tail) }
}

/// The quantile of sorted values, interpolated between neighbours.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let low = place.floor() as usize;
    let (low_value, high_value) = (sorted[low], sorted[(low + 1).min(sorted.len() - 1)]);
    low_value + (high_value - low_value) * (place - low as f64)
}

#[cfg(test)]
mod tests {
    use super::bootstrap_test;
    use crate::error::StatsError;
    use crate::stats::paired_t_test;

    #[test]
    fn near_the_t_test_on_many_regular_pairs() -> Result<(), StatsError> {
        let baseline: Vec<f64> = (0..300).map(|i| f64::from(i * 37 % 101) / 101.0).collect();
        let other: Vec<f64> = (0..300).map(|i| f64::from(i * 53 % 97) / 97.0 + 0.05).collect();
        let bootstrap = bootstrap_test(&baseline, &other, 20_000, 0.95, 3)?;
        let t_test = paired_t_test(&baseline, &other)?;
        assert!((bootstrap.p_value - t_test.p_value).abs() < 0.01, "{bootstrap:?} {t_test:?}");
        let (by_t, interval) = (t_test.interval(0.95), bootstrap.interval);
        let width = by_t.high - by_t.low;
        assert!((interval.low - by_t.low).abs() < 0.05 * width, "{interval:?} {by_t:?}");
        assert!((interval.high - by_t.high).abs() < 0.05 * width, "{interval:?} {by_t:?}");
        assert_eq!(bootstrap, bootstrap_test(&baseline, &other, 20_000, 0.95, 3)?);
        Ok(())
    }

    #[test]
    fn degenerate_samples() -> Result<(), StatsError> {
        let same = bootstrap_test(&[0.5, 0.7], &[0.5, 0.7], 99, 0.95, 1)?;
        assert_eq!((same.p_value, same.interval.low, same.interval.high), (1.0, 0.0, 0.0));
        let certain = bootstrap_test(&[0.0, 0.0], &[1.0, 1.0], 99, 0.95, 1)?;
        assert_eq!((certain.p_value, certain.interval.low), (0.01, 1.0));
        assert_eq!(
            bootstrap_test(&[0.0, 0.0], &[1.0, 1.0], 0, 0.95, 1),
            Err(StatsError::Samples { what: "resamples", given: 0 })
        );
        Ok(())
    }
}
