//! Sizes of an effect, and how many queries would show the effect.

use libm::lgamma;

use super::distributions::{noncentral_tails, normal_quantile, two_sided_t_quantile};
use super::t_test::TTest;

/// No search looks for more queries than this.
const MOST_QUERIES: usize = 100_000_000;

/// How large a difference is, apart from the number of queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectSize {
    /// Cohen's d of paired samples: the mean difference over the standard deviation of the differences. It is
    /// 0 where there is no difference, and infinite where all differences are the same and not zero.
    pub cohens_d: f64,
    /// Hedges' g: Cohen's d without its bias in small samples (Hedges 1981).
    pub hedges_g: f64,
}

impl TTest {
    /// The size of the effect.
    #[must_use]
    pub fn effect(&self) -> EffectSize {
        let pairs = (self.degrees_of_freedom + 1) as f64;
        let cohens_d = self.t / pairs.sqrt();
        let half = self.degrees_of_freedom as f64 / 2.0;
        // Of one degree of freedom the correction is 0: gamma(0) is infinite.
        let correction = (lgamma(half) - lgamma(half - 0.5)).exp() / half.sqrt();
        let hedges_g = if cohens_d.is_finite() { cohens_d * correction } else { cohens_d };
        EffectSize { cohens_d, hedges_g }
    }
}

/// The probability that a two-sided paired t-test at level `alpha` on `queries` queries finds an effect of
/// the size `cohens_d`. It is 0 for fewer than two queries.
#[must_use]
pub fn power(cohens_d: f64, queries: usize, alpha: f64) -> f64 {
    if queries < 2 {
        return 0.0;
    }
    if cohens_d.is_infinite() {
        return 1.0;
    }
    let critical = two_sided_t_quantile(alpha, (queries - 1) as f64);
    power_beyond(critical, cohens_d, queries)
}

/// The probability that t is at least `critical` away from 0.
fn power_beyond(critical: f64, cohens_d: f64, queries: usize) -> f64 {
    noncentral_tails(critical, (queries - 1) as f64, cohens_d.abs() * (queries as f64).sqrt())
}

/// The fewest queries on which a two-sided paired t-test at level `alpha` finds an effect of the size
/// `cohens_d` with the probability `wanted`. `None` if 100 million queries are not enough.
#[must_use]
pub fn queries_needed(cohens_d: f64, alpha: f64, wanted: f64) -> Option<usize> {
    let enough = |queries: usize| power(cohens_d, queries, alpha) >= wanted;
    // By the normal distribution, less a few: the search begins near its end, and t needs more queries.
    let quantiles = normal_quantile(wanted) - normal_quantile(alpha / 2.0);
    let about = (quantiles / cohens_d).powi(2).min(MOST_QUERIES as f64) as usize;
    let about = about.saturating_sub(3).max(1);
    let (mut low, mut high, mut step) = if enough(about) { (1, about, 0) } else { (about, about + 2, 2) };
    while step > 0 && !enough(high) {
        if high == MOST_QUERIES {
            return None;
        }
        step *= 2;
        (low, high) = (high, (high + step).min(MOST_QUERIES));
    }
    // Power grows with the queries: bisection.
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The smallest effect, as Cohen's d, that a two-sided paired t-test at level `alpha` on this many queries
/// finds with the probability `wanted`. `None` for fewer than two queries.
#[must_use]
pub fn detectable_effect(queries: usize, alpha: f64, wanted: f64) -> Option<f64> {
    if queries < 2 {
        return None;
    }
    let critical = two_sided_t_quantile(alpha, (queries - 1) as f64);
    let power = |cohens_d: f64| power_beyond(critical, cohens_d, queries);
    let (mut low, mut high) = (0.0, 1.0);
    while power(high) < wanted && high < 1e6 {
        (low, high) = (high, high * 2.0);
    }
    // Fifty halvings leave 1e-15 of the start.
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if power(middle) < wanted { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::{detectable_effect, power, queries_needed};

    #[test]
    fn queries_and_effects_are_inverse() {
        for effect in [0.1, 0.3, 0.8, 2.0] {
            let queries = queries_needed(effect, 0.05, 0.8).unwrap();
            assert!(power(effect, queries, 0.05) >= 0.8);
            assert!(power(effect, queries - 1, 0.05) < 0.8, "{effect}: {queries} are not the fewest");
            let detectable = detectable_effect(queries, 0.05, 0.8).unwrap();
            assert!(detectable <= effect && power(detectable, queries, 0.05) >= 0.8);
        }
        assert_eq!(queries_needed(0.0, 0.05, 0.8), None);
        assert_eq!(queries_needed(f64::INFINITY, 0.05, 0.8), Some(2));
        // (1.959964 + 0.841621)^2 / d^2 of them.
        let many = queries_needed(3.35e-4, 0.05, 0.8).unwrap();
        assert!(many.abs_diff(69_938_000) < 10_000, "{many}");
        assert_eq!((power(1.0, 1, 0.05), detectable_effect(1, 0.05, 0.8)), (0.0, None));
    }
}
