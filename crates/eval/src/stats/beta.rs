//! The regularised incomplete beta function, which gives Student's t distribution.

use libm::lgamma;

/// I_x(a, b) for a, b > 0 and x in [0, 1], with `complement` = 1 - x given separately so that no digit is
/// lost where x is close to 1. The relative error stays small for values far below 1e-16.
pub(super) fn incomplete_beta(a: f64, b: f64, x: f64, complement: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if complement <= 0.0 {
        return 1.0;
    }
    let front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * complement.ln();
    // The fraction converges fast on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * continued_fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * continued_fraction(b, a, complement) / b
    }
}

/// The continued fraction 26.5.8 of Abramowitz and Stegun, by Lentz' method.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            value *= c * d;
        }
        if (value - before).abs() <= f64::EPSILON * value.abs() {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::incomplete_beta;

    #[test]
    fn closed_forms() {
        for x in [1e-12_f64, 0.1, 0.3, 0.5, 0.77, 0.999] {
            // I_x(1, b) = 1 - (1 - x)^b and I_x(a, 1) = x^a.
            let cases =
                [(1.0, 3.5, -(3.5 * (-x).ln_1p()).exp_m1()), (4.5, 1.0, x.powf(4.5)), (0.5, 1.0, x.sqrt())];
            for (a, b, expected) in cases {
                let value = incomplete_beta(a, b, x, 1.0 - x);
                assert!((value / expected - 1.0).abs() < 1e-11, "I_{x}({a}, {b}) = {value}, not {expected}");
            }
        }
        assert!((incomplete_beta(7.0, 7.0, 0.5, 0.5) - 0.5).abs() < 1e-14);
    }
}
