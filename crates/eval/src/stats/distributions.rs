//! The normal distribution and Student's t: tails and quantiles.

use libm::{erfc, lgamma};

use super::beta::incomplete_beta;

/// P(Z <= x) of the standard normal distribution. The relative error is small in the lower tail.
pub(super) fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x / std::f64::consts::SQRT_2)
}

/// The x with P(Z <= x) = p, for p in (0, 1).
pub(super) fn normal_quantile(p: f64) -> f64 {
    // By symmetry the search is in the lower tail, where the tail keeps its digits.
    if p > 0.5 { -normal_quantile(1.0 - p) } else { root(-40.0, 0.0, |x| normal_cdf(x) - p) }
}

/// P(|T| >= |t|) = I_x(df / 2, 1 / 2) with x = df / (df + t^2).
pub(super) fn two_sided_t(t: f64, degrees_of_freedom: f64) -> f64 {
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    let whole = degrees_of_freedom + square;
    incomplete_beta(degrees_of_freedom / 2.0, 0.5, degrees_of_freedom / whole, square / whole)
}

/// P(T >= t).
pub(super) fn upper_t(t: f64, degrees_of_freedom: f64) -> f64 {
    let half = two_sided_t(t, degrees_of_freedom) / 2.0;
    if t < 0.0 { 1.0 - half } else { half }
}

/// The t with P(|T| >= t) = p, for p in (0, 1).
pub(super) fn two_sided_t_quantile(p: f64, degrees_of_freedom: f64) -> f64 {
    let mut high = 1.0;
    while two_sided_t(high, degrees_of_freedom) > p && high < 1e300 {
        high *= 2.0;
    }
    root(0.0, high, |t| p - two_sided_t(t, degrees_of_freedom))
}

/// P(|T'| >= `critical`) of the noncentral t distribution, which is (Z + `shift`) / S with S^2 = chi^2 / df:
/// the normal tails, integrated over the density of S by Simpson's rule.
pub(super) fn noncentral_tails(critical: f64, degrees_of_freedom: f64, shift: f64) -> f64 {
    let df = degrees_of_freedom;
    // S is near 1. Beyond twelve standard deviations its density is below 1e-30.
    let reach = 12.0 / (2.0 * df).sqrt();
    let (low, high) = ((1.0 - reach).max(0.0), 1.0 + reach);
    // Where the density is cut off at zero, the ends are not flat and the step must be small.
    let steps = if low > 0.0 { 400 } else { 8_000 };
    let step = (high - low) / f64::from(steps);
    let constant = std::f64::consts::LN_2 + df / 2.0 * (df / 2.0).ln() - lgamma(df / 2.0);
    let at = |s: f64| {
        // At 0 the density is positive only for one degree of freedom.
        let power = if df == 1.0 { 0.0 } else { (df - 1.0) * s.ln() };
        let density = (constant + power - df * s * s / 2.0).exp();
        density * (normal_cdf(shift - critical * s) + normal_cdf(-shift - critical * s))
    };
    let inner: f64 = (1..steps)
        .map(|index| at(low + f64::from(index) * step) * if index % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    ((at(low) + inner + at(high)) * step / 3.0).clamp(0.0, 1.0)
}

/// Where a growing function crosses zero between `low` and `high`, to the last digit, by bisection.
fn root(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if function(middle) < 0.0 { low = middle } else { high = middle }
    }
}

#[cfg(test)]
mod tests {
    use super::{normal_cdf, normal_quantile, two_sided_t, two_sided_t_quantile, upper_t};

    #[test]
    fn p_values_of_tables() {
        // Two-sided 5% points (Fisher and Yates), and the closed forms of 1 and 2 degrees of freedom.
        for (degrees_of_freedom, t) in
            [(4.0, 2.776_445), (10.0, 2.228_139), (30.0, 2.042_272), (120.0, 1.979_930)]
        {
            assert!((two_sided_t(t, degrees_of_freedom) - 0.05).abs() < 1e-6);
            assert!((two_sided_t_quantile(0.05, degrees_of_freedom) - t).abs() < 1e-6);
        }
        for t in [0.1_f64, 1.0, 5.0, 100.0] {
            let cauchy = 1.0 - 2.0 / std::f64::consts::PI * t.atan();
            assert!((two_sided_t(t, 1.0) - cauchy).abs() < 1e-13);
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((two_sided_t(t, 2.0) - two).abs() < 1e-13);
        }
    }

    #[test]
    fn tails_are_complements() {
        for (t, df) in [(0.0, 5.0), (1.3, 2.0), (-2.5, 40.0), (7.0, 9.0)] {
            assert!((upper_t(t, df) + upper_t(-t, df) - 1.0).abs() < 1e-15);
        }
        for p in [1e-12, 0.025, 0.5, 0.8, 0.999] {
            assert!((normal_cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-12, "{p}");
        }
    }
}
