//! Student's paired t-test, the interval of the mean difference and equivalence by two one-sided tests.

use super::differences;
use super::distributions::{two_sided_t, two_sided_t_quantile, upper_t};
use crate::error::StatsError;

/// The result of a paired t-test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    /// Mean of other - baseline.
    pub mean_difference: f64,
    /// The t statistic; infinite where all differences are the same and not zero, 0 where all are zero.
    pub t: f64,
    /// Degrees of freedom: pairs - 1.
    pub degrees_of_freedom: usize,
    /// The two-sided p-value; 1 where all differences are zero.
    pub p_value: f64,
    /// The standard error of the mean difference.
    pub standard_error: f64,
}

/// A range that a quantity is in, with some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The result of the two one-sided tests of equivalence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equivalence {
    /// The largest mean difference that counts as none.
    pub margin: f64,
    /// The larger of the two p-values: if it is small, the mean difference is within the margin.
    pub p_value: f64,
}

/// The two-sided paired t-test of the hypothesis that `other` and `baseline` have the same mean
/// (Student 1908): t = mean(d) / (sd(d) / sqrt(n)) of the n differences d.
///
/// # Errors
/// If the slices differ in length, hold fewer than two values or one that is not finite.
pub fn paired_t_test(baseline: &[f64], other: &[f64]) -> Result<TTest, StatsError> {
    let differences = differences(baseline, other)?;
    let count = differences.len() as f64;
    let mean_difference = differences.iter().sum::<f64>() / count;
    let degrees_of_freedom = differences.len() - 1;
    let squares: f64 = match differences.iter().all(|difference| *difference == differences[0]) {
        // Their mean may differ from them by its rounding.
        true => 0.0,
        false => differences.iter().map(|difference| (difference - mean_difference).powi(2)).sum(),
    };
    let standard_error = (squares / degrees_of_freedom as f64 / count).sqrt();

    let t = ratio(mean_difference, standard_error);
    let p_value = two_sided_t(t, degrees_of_freedom as f64);
    Ok(TTest { mean_difference, t, degrees_of_freedom, p_value, standard_error })
}

impl TTest {
    /// The interval that holds the mean difference with this confidence, in (0, 1).
    #[must_use]
    pub fn interval(&self, confidence: f64) -> Interval {
        if self.standard_error == 0.0 {
            return Interval { low: self.mean_difference, high: self.mean_difference };
        }
        let t = two_sided_t_quantile(1.0 - confidence, self.degrees_of_freedom as f64);
        let half = t * self.standard_error;
        Interval { low: self.mean_difference - half, high: self.mean_difference + half }
    }

    /// The two one-sided tests (Schuirmann 1987) of the hypothesis that the means differ by `margin` or more.
    ///
    /// # Errors
    /// If the margin is not above zero and finite.
    pub fn equivalence(&self, margin: f64) -> Result<Equivalence, StatsError> {
        if !(margin > 0.0 && margin.is_finite()) {
            return Err(StatsError::BadMargin { margin });
        }
        let degrees_of_freedom = self.degrees_of_freedom as f64;
        let above_low =
            upper_t(ratio(self.mean_difference + margin, self.standard_error), degrees_of_freedom);
        let below_high =
            upper_t(ratio(margin - self.mean_difference, self.standard_error), degrees_of_freedom);
        Ok(Equivalence { margin, p_value: above_low.max(below_high) })
    }

    /// The standard deviation of the differences.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        self.standard_error * ((self.degrees_of_freedom + 1) as f64).sqrt()
    }
}

/// A t statistic; 0 where there is no difference, and infinite where there is one without deviation.
fn ratio(difference: f64, standard_error: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / standard_error }
}

#[cfg(test)]
mod tests {
    use super::paired_t_test;
    use crate::error::StatsError;

    #[test]
    fn degenerate_samples() -> Result<(), StatsError> {
        assert_eq!(paired_t_test(&[0.1, 0.2], &[0.1, 0.2])?.p_value, 1.0);
        let certain = paired_t_test(&[0.0, 0.0], &[1.0, 1.0])?;
        assert_eq!((certain.p_value, certain.interval(0.95).low), (0.0, 1.0));
        assert_eq!(certain.equivalence(2.0)?.p_value, 0.0);
        assert_eq!(certain.equivalence(0.5)?.p_value, 1.0);
        assert!(matches!(certain.equivalence(0.0), Err(StatsError::BadMargin { .. })));
        // Thirty times 0.1 is not 3.
        assert_eq!(paired_t_test(&[0.0; 30], &[0.1; 30]).map(|test| test.t), Ok(f64::INFINITY));
        assert_eq!(paired_t_test(&[0.0], &[1.0]), Err(StatsError::TooFewPairs { pairs: 1 }));
        assert_eq!(paired_t_test(&[0.0, 1.0], &[1.0]), Err(StatsError::Unpaired { left: 2, right: 1 }));
        assert_eq!(paired_t_test(&[0.0, f64::NAN], &[1.0, 1.0]), Err(StatsError::NotFinite));
        Ok(())
    }
}
