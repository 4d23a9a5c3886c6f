//! Corrections of p-values for the number of tests.

use toller_ir::named;

named! {
    /// How p-values account for the number of tests that were made.
    #[derive(Default)]
    pub enum Correction: "a correction" {
        /// Holm's step-down method (1979): as safe as Bonferroni's, and never less powerful.
        #[default]
        Holm = "holm",
        /// Each p-value times the number of tests (Bonferroni 1936).
        Bonferroni = "bonferroni",
        /// Benjamini and Hochberg's step-up method (1995): bounds the expected share of false discoveries.
        BenjaminiHochberg = "bh",
        /// Not at all.
        None = "none",
    }
}

/// The corrected p-values, in the order of `p_values`, none above 1.
#[must_use]
pub fn adjust_p_values(p_values: &[f64], correction: Correction) -> Vec<f64> {
    let count = p_values.len();
    let ascending = || {
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
        order
    };
    match correction {
        Correction::None => p_values.to_vec(),
        Correction::Bonferroni => p_values.iter().map(|p| (p * count as f64).min(1.0)).collect(),
        Correction::Holm => {
            let mut adjusted = vec![0.0; count];
            let mut highest = 0.0_f64;
            for (step, at) in ascending().into_iter().enumerate() {
                highest = highest.max(p_values[at] * (count - step) as f64).min(1.0);
                adjusted[at] = highest;
            }
            adjusted
        }
        Correction::BenjaminiHochberg => {
            let mut adjusted = vec![0.0; count];
            let mut lowest = 1.0_f64;
            for (step, at) in ascending().into_iter().enumerate().rev() {
                lowest = lowest.min(p_values[at] * count as f64 / (step + 1) as f64);
                adjusted[at] = lowest;
            }
            adjusted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Correction, adjust_p_values};

    #[test]
    fn by_hand() {
        let p_values = [0.01, 0.04, 0.03, 0.005];
        let close = |correction, expected: [f64; 4]| {
            let adjusted = adjust_p_values(&p_values, correction);
            adjusted.iter().zip(expected).all(|(adjusted, expected)| (adjusted - expected).abs() < 1e-12)
        };
        assert!(close(Correction::None, p_values));
        assert!(close(Correction::Bonferroni, [0.04, 0.16, 0.12, 0.02]));
        // Sorted .005*4, .01*3, .03*2, .04*1; the last must not fall below the one before it.
        assert!(close(Correction::Holm, [0.03, 0.06, 0.06, 0.02]));
        // Sorted .005*4/1, .01*4/2, .03*4/3, .04*4/4.
        assert!(close(Correction::BenjaminiHochberg, [0.02, 0.04, 0.04, 0.02]));
        assert_eq!(adjust_p_values(&[0.9, 0.8], Correction::Bonferroni), [1.0, 1.0]);
        assert!(adjust_p_values(&[], Correction::Holm).is_empty());
    }
}
