//! Scores, and how a run writes them.

use std::fmt;

/// A score to be written. It is printed with the fewest digits that read back as the same number of the same
/// type. So distinct scores stay distinct, and equal ones equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// A score of a search.
    F32(f32),
    /// A score of a run that was read.
    F64(f64),
}

/// Room for the digits of any score.
#[derive(Default)]
pub(super) struct Digits {
    fast: zmij::Buffer,
    /// What `fast` would write otherwise than [`fmt::Debug`] does.
    other: String,
}

impl Digits {
    /// The shortest decimal number that reads back as the score, in the form of [`fmt::Debug`]: with an
    /// exponent where that is shorter. (Where two are as short and as near, either may be taken.)
    pub(super) fn of(&mut self, score: Score) -> &str {
        // Within this range both write plain decimals.
        const PLAIN: std::ops::Range<f64> = 1e-4..1e12;
        match score {
            Score::F32(score) if PLAIN.contains(&f64::from(score).abs()) => self.fast.format_finite(score),
            Score::F64(score) if PLAIN.contains(&score.abs()) => self.fast.format_finite(score),
            Score::F32(score) => self.as_debug(&score),
            Score::F64(score) => self.as_debug(&score),
        }
    }

    fn as_debug(&mut self, score: &dyn fmt::Debug) -> &str {
        self.other = format!("{score:?}");
        &self.other
    }
}

impl Score {
    /// The number that a reader of the run gets. The digits of an f32, read as f64, are mostly another number
    /// than the f32 is.
    #[must_use]
    pub fn as_read(self) -> f64 {
        match self {
            Self::F32(score) => Digits::default().of(self).parse().unwrap_or(f64::from(score)),
            Self::F64(score) => score,
        }
    }

    pub(super) fn is_finite(self) -> bool {
        match self {
            Self::F32(score) => score.is_finite(),
            Self::F64(score) => score.is_finite(),
        }
    }
}

impl From<f32> for Score {
    fn from(score: f32) -> Self {
        Self::F32(score)
    }
}

impl From<f64> for Score {
    fn from(score: f64) -> Self {
        Self::F64(score)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Digits::default().of(*self))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Score;

    /// Any bits, and numbers of the size of usual scores.
    fn bits() -> impl Strategy<Value = u32> {
        prop_oneof![
            any::<u32>(),
            (1e-5_f32..1e-3).prop_map(f32::to_bits),
            (-2e3_f32..2e3).prop_map(f32::to_bits)
        ]
    }

    proptest! {
        #[test]
        fn digits_are_the_fewest_that_read_back(bits in bits(), wide in any::<u64>(), usual in -2e3..2e3) {
            let score = f32::from_bits(bits);
            prop_assume!(score.is_finite());
            let digits = Score::F32(score).to_string();
            prop_assert_eq!(digits.parse::<f32>().map(f32::to_bits), Ok(bits));
            prop_assert_eq!(digits.len(), format!("{score:?}").len());
            for score in [f64::from_bits(wide), usual, f64::from(score)].into_iter().filter(|x| x.is_finite()) {
                let digits = Score::F64(score).to_string();
                prop_assert_eq!(digits.parse::<f64>().map(f64::to_bits), Ok(score.to_bits()));
                prop_assert_eq!(digits.len(), format!("{score:?}").len());
            }
        }
    }

    #[test]
    fn digits_at_the_ends_of_the_plain_range() {
        for score in [0.0, -0.0, 1e-4, 9.9999e-5, 1e11, 1e12, 1e13, 1e15, 1e16, 1e17, 123_456_789.0] {
            assert_eq!(Score::F64(score).to_string(), format!("{score:?}"));
            let narrow = score as f32;
            assert_eq!(Score::F32(narrow).to_string(), format!("{narrow:?}"));
        }
    }
}
