//! A run's value of a measure, with the uncertainty that comes from the choice of queries.

use serde::Serialize;
use toller_eval::{Measure, bootstrap_test};

/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// Samples of the bootstrap, and its seed: the same runs give the same page.
const RESAMPLES: u64 = 2_000;
const SEED: u64 = 42;

/// A value over all queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean over the queries, or what the measure has instead.
    pub value: f64,
    /// The ends of the interval that holds the mean over other queries of this kind with a confidence of 95 %
    /// (by the bootstrap, which stays in the range of the values); `None` where the value is not a mean.
    pub interval: Option<[f64; 2]>,
}

impl Estimate {
    /// Of the value over all queries and those of each.
    pub(super) fn new(value: f64, values: &[f64], measure: &Measure) -> Self {
        if !measure.is_mean() {
            return Self { value, interval: None };
        }
        let zeros = vec![0.0; values.len()];
        let sampled = bootstrap_test(&zeros, values, RESAMPLES, CONFIDENCE, SEED).ok();
        Self { value, interval: sampled.map(|test| [test.interval.low, test.interval.high]) }
    }
}

#[cfg(test)]
mod tests {
    use super::Estimate;

    #[test]
    fn intervals_stay_in_the_range_of_the_values() {
        let values: Vec<f64> = (0..40).map(|at| if at < 37 { 1.0 } else { 0.2 }).collect();
        let mean = values.iter().sum::<f64>() / 40.0;
        let estimate = Estimate::new(mean, &values, &"RR".parse().unwrap());
        let [low, high] = estimate.interval.unwrap();
        assert!(0.8 < low && low < mean && mean < high && high <= 1.0, "{low} {high}");
        assert_eq!(Estimate::new(15.0, &[1.0, 2.0], &"NumRel".parse().unwrap()).interval, None);
    }
}
