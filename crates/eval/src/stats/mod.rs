//! Significance tests on paired values, sizes of effects, and corrections for making several tests.

mod beta;
mod bootstrap;
mod correction;
mod distributions;
mod effect;
mod randomization;
mod t_test;
mod tukey;
mod wilcoxon;

pub use bootstrap::{BootstrapTest, bootstrap_test};
pub use correction::{Correction, adjust_p_values};
pub use effect::{EffectSize, detectable_effect, power, queries_needed};
pub use randomization::{RandomizationTest, randomization_test};
pub use t_test::{Equivalence, Interval, TTest, paired_t_test};
pub use tukey::tukey_test;
pub use wilcoxon::{WilcoxonTest, wilcoxon_test};

use crate::error::StatsError;

/// The most samples or permutations that a test draws; each takes some bytes.
pub const MOST_SAMPLES: u64 = 10_000_000;

/// Refuses a number of samples or permutations that cannot be drawn.
fn check_samples(what: &'static str, given: u64) -> Result<(), StatsError> {
    if (1..=MOST_SAMPLES).contains(&given) { Ok(()) } else { Err(StatsError::Samples { what, given }) }
}

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
