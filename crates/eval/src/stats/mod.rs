//! Significance tests on paired values, and corrections for making several of them.

mod beta;
mod correction;
mod randomization;
mod t_test;

pub use correction::{Correction, adjust_p_values};
pub use randomization::{RandomizationTest, randomization_test};
pub use t_test::{TTest, paired_t_test};

use crate::error::StatsError;

/// `other - baseline` of each pair.
fn differences(baseline: &[f64], other: &[f64]) -> Result<Vec<f64>, StatsError> {
    if baseline.len() != other.len() {
        return Err(StatsError::Unpaired { left: baseline.len(), right: other.len() });
    }
    if baseline.len() < 2 {
        return Err(StatsError::TooFewPairs { pairs: baseline.len() });
    }
    let differences: Vec<f64> =
        baseline.iter().zip(other).map(|(baseline, other)| other - baseline).collect();
    if differences.iter().all(|difference| difference.is_finite()) {
        Ok(differences)
    } else {
        Err(StatsError::NotFinite)
    }
}
