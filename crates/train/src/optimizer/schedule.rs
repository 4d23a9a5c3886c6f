//! The learning rate over a run.

use std::fmt;

use toller_ir::named;

named! {
    /// How the learning rate changes after the warm-up.
    pub enum Schedule: "a schedule" {
        /// Falls on a line from the end of the warm-up to zero: that of transformers.
        Linear = "linear",
        /// Falls on a line that began with the run: BERT's own (Devlin et al. 2019, appendix A.2), which
        /// jumps at the end of the warm-up.
        Bert = "bert",
        /// Stays.
        Constant = "constant",
        /// Falls as half a cosine.
        Cosine = "cosine",
    }
}

/// How long the rate rises on a line from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// This many steps.
    Steps(u64),
    /// This share of all steps, rounded up; never all of them.
    Share(f64),
}

impl fmt::Display for Warmup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(f, "{steps} steps"),
            Self::Share(share) => write!(f, "{share} of the steps"),
        }
    }
}

impl Warmup {
    /// A whole number from 1 on is steps, any other a share.
    #[must_use]
    pub fn of(number: f64) -> Self {
        let is_count = number >= 1.0 && number.is_finite() && number.fract() == 0.0;
        if is_count { Self::Steps(number as u64) } else { Self::Share(number) }
    }

    /// In steps.
    #[must_use]
    pub fn steps(self, total: u64) -> u64 {
        match self {
            Self::Steps(steps) => steps,
            Self::Share(share) => ((share * total as f64).ceil() as u64).min(total.saturating_sub(1)),
        }
    }
}

impl Schedule {
    /// The share of the learning rate for the step after `done` steps.
    #[must_use]
    pub fn factor(self, done: u64, warmup: u64, total: u64) -> f64 {
        if done < warmup {
            return done as f64 / warmup as f64;
        }
        let progress = (done - warmup) as f64 / total.saturating_sub(warmup).max(1) as f64;
        match self {
            Self::Constant => 1.0,
            Self::Linear => (1.0 - progress).max(0.0),
            Self::Bert => (1.0 - done as f64 / total.max(1) as f64).max(0.0),
            Self::Cosine => (0.5 * (1.0 + libm::cos(std::f64::consts::PI * progress))).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Schedule, Warmup};

    #[test]
    fn schedules_by_hand() {
        let factors = |schedule: Schedule| [0, 1, 2, 3, 6, 10].map(|done| schedule.factor(done, 2, 10));
        assert_eq!(factors(Schedule::Linear), [0.0, 0.5, 1.0, 0.875, 0.5, 0.0]);
        assert_eq!(factors(Schedule::Bert), [0.0, 0.5, 0.8, 0.7, 0.4, 0.0]);
        assert_eq!(factors(Schedule::Constant), [0.0, 0.5, 1.0, 1.0, 1.0, 1.0]);
        assert!((Schedule::Cosine.factor(6, 2, 10) - 0.5).abs() < 1e-15);
        assert_eq!(Schedule::Linear.factor(0, 0, 1), 1.0, "a run of one step learns");
        assert_eq!((Warmup::Share(0.1).steps(11), Warmup::Steps(3).steps(11)), (2, 3));
        assert_eq!(Warmup::Share(0.1).steps(1), 0, "the only step of a run learns");
        assert_eq!((Warmup::of(3.0), Warmup::of(1.5)), (Warmup::Steps(3), Warmup::Share(1.5)));
    }
}
