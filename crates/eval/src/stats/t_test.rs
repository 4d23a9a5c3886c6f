//! Student's paired t-test.

use super::beta::incomplete_beta;
use super::differences;
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
    let squares: f64 = differences.iter().map(|difference| (difference - mean_difference).powi(2)).sum();
    let standard_error = (squares / degrees_of_freedom as f64 / count).sqrt();

    let t = if mean_difference == 0.0 { 0.0 } else { mean_difference / standard_error };
    let p_value = two_sided_p(t, degrees_of_freedom as f64);
    Ok(TTest { mean_difference, t, degrees_of_freedom, p_value })
}

/// P(|T| >= |t|) = I_x(df / 2, 1 / 2) with x = df / (df + t^2).
fn two_sided_p(t: f64, degrees_of_freedom: f64) -> f64 {
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    let whole = degrees_of_freedom + square;
    incomplete_beta(degrees_of_freedom / 2.0, 0.5, degrees_of_freedom / whole, square / whole)
}

#[cfg(test)]
mod tests {
    use super::{paired_t_test, two_sided_p};
    use crate::error::StatsError;
    use crate::stats::randomization_test;

    #[test]
    fn p_values_of_tables() {
        // Two-sided 5% points (Fisher and Yates), and the closed forms of 1 and 2 degrees of freedom.
        for (degrees_of_freedom, t) in
            [(4.0, 2.776_445), (10.0, 2.228_139), (30.0, 2.042_272), (120.0, 1.979_930)]
        {
            assert!((two_sided_p(t, degrees_of_freedom) - 0.05).abs() < 1e-6);
        }
        for t in [0.1_f64, 1.0, 5.0, 100.0] {
            let cauchy = 1.0 - 2.0 / std::f64::consts::PI * t.atan();
            assert!((two_sided_p(t, 1.0) - cauchy).abs() < 1e-13);
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((two_sided_p(t, 2.0) - two).abs() < 1e-13);
        }
    }

    #[test]
    fn as_scipy() -> Result<(), StatsError> {
        let baseline = [0.31, 0.0, 0.55, 1.0, 0.72, 0.18, 0.43, 0.9, 0.05, 0.66, 0.27, 0.81];
        let other = [0.42, 0.1, 0.50, 1.0, 0.91, 0.33, 0.41, 1.0, 0.25, 0.60, 0.45, 0.97];
        let test = paired_t_test(&baseline, &other)?;
        assert!((test.t - 3.184_461_371_068_38).abs() < 1e-12);
        assert!((test.p_value - 0.008_691_833_182_692_541).abs() < 1e-14);
        assert_eq!(test.degrees_of_freedom, 11);
        let randomization = randomization_test(&baseline, &other, 0, 0)?;
        assert_eq!(randomization.p_value, 0.013_671_875);

        // Far tails and many degrees of freedom keep their digits.
        for (t, degrees_of_freedom, p) in [
            (0.5, 3.0, 0.651_447_964_848_151),
            (3.0, 42.0, 0.004_526_246_135_666_9),
            (12.0, 199.0, 2.579_960_674_793_177_6e-25),
            (1e-3, 1e6, 0.999_202_115_771_649_2),
        ] {
            assert!((two_sided_p(t, degrees_of_freedom) / p - 1.0).abs() < 1e-10);
        }
        Ok(())
    }

    #[test]
    fn degenerate_samples() -> Result<(), StatsError> {
        assert_eq!(paired_t_test(&[0.1, 0.2], &[0.1, 0.2])?.p_value, 1.0);
        assert_eq!(paired_t_test(&[0.0, 0.0], &[1.0, 1.0])?.p_value, 0.0);
        assert_eq!(paired_t_test(&[0.0], &[1.0]), Err(StatsError::TooFewPairs { pairs: 1 }));
        assert_eq!(paired_t_test(&[0.0, 1.0], &[1.0]), Err(StatsError::Unpaired { left: 2, right: 1 }));
        assert_eq!(paired_t_test(&[0.0, f64::NAN], &[1.0, 1.0]), Err(StatsError::NotFinite));
        Ok(())
    }
}
