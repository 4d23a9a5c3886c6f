//! Wilcoxon's signed-rank test.

use super::differences;
use super::distributions::normal_cdf;
use crate::error::StatsError;

/// The result of a signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WilcoxonTest {
    /// Pairs that differ; the others are left out.
    pub pairs: usize,
    /// The smaller of the rank sums of positive and of negative differences.
    pub statistic: f64,
    /// The two-sided p-value by the normal approximation; 1 where no pair differs.
    pub p_value: f64,
}

/// Differences of measures that are this close are equal: 0.6 - 0.4 is not quite 0.2 - 0.0.
const ROUNDING: f64 = 1e-12;

/// The two-sided signed-rank test (Wilcoxon 1945) of the hypothesis that the differences are symmetric about
/// zero. Pairs without a difference are left out, tied differences get their mean rank, and the p-value is
/// the normal approximation, corrected for ties and not for continuity. Differences within 1e-12 of the
/// largest value are tied.
///
/// # Errors
/// If the slices differ in length, hold fewer than two values or one that is not finite.
pub fn wilcoxon_test(baseline: &[f64], other: &[f64]) -> Result<WilcoxonTest, StatsError> {
    let mut differences = differences(baseline, other)?;
    let largest = baseline.iter().chain(other).fold(0.0, |most: f64, value| most.max(value.abs()));
    let rounding = ROUNDING * largest;
    differences.retain(|difference| difference.abs() > rounding);
    differences.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (mut positive, mut negative, mut ties, mut before) = (0.0, 0.0, 0.0, 0_usize);
    for tied in differences.chunk_by(|a, b| b.abs() - a.abs() <= rounding) {
        let count = tied.len() as f64;
        let rank = before as f64 + f64::midpoint(count, 1.0);
        let above = tied.iter().filter(|difference| **difference > 0.0).count() as f64;
        positive += above * rank;
        negative += (count - above) * rank;
        ties += count * (count * count - 1.0);
        before += tied.len();
    }
    let count = differences.len() as f64;
    let statistic = f64::min(positive, negative);
    let mean = count * (count + 1.0) / 4.0;
    let deviation = ((count * (count + 1.0) * (2.0 * count + 1.0) - ties / 2.0) / 24.0).sqrt();
    let p_value =
        if differences.is_empty() { 1.0 } else { 2.0 * normal_cdf(-((statistic - mean) / deviation).abs()) };
    Ok(WilcoxonTest { pairs: differences.len(), statistic, p_value })
}

#[cfg(test)]
mod tests {
    use super::wilcoxon_test;
    use crate::error::StatsError;

    #[test]
    fn ranks_by_hand() -> Result<(), StatsError> {
        // Differences 1, -1, 2, 0, 3: mean ranks 1.5, 1.5, 3 and 4 of the four that differ.
        let test = wilcoxon_test(&[0.0, 1.0, 0.0, 5.0, 0.0], &[1.0, 0.0, 2.0, 5.0, 3.0])?;
        assert_eq!((test.pairs, test.statistic), (4, 1.5));
        assert_eq!(wilcoxon_test(&[1.0, 2.0], &[1.0, 2.0])?.p_value, 1.0);
        Ok(())
    }

    #[test]
    fn rounding_breaks_no_ties() -> Result<(), StatsError> {
        let [baseline, other] = [[0.4, 0.2, 0.0, 0.6, 0.1 + 0.2], [0.6, 0.0, 0.2, 0.8, 0.3]];
        let tenths = |values: [f64; 5]| values.map(|value| (value * 10.0).round());
        let test = wilcoxon_test(&baseline, &other)?;
        assert_eq!(test, wilcoxon_test(&tenths(baseline), &tenths(other))?);
        assert_eq!((test.pairs, test.statistic), (4, 2.5));
        Ok(())
    }
}
