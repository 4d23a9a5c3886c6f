//! The values of a parameter that are tried.

use std::str::FromStr;

/// Values of a parameter, ascending and distinct, each at least 0: `FROM:TO:STEP`, both ends included, or
/// `V,V,...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    values: Vec<f64>,
}

/// More points than this are a mistyped step.
const MOST_POINTS: f64 = 10_000.0;

/// Steps are rounded to this fraction, so that three steps of 0.1 are 0.3.
const FINEST: f64 = 1e9;

impl Grid {
    /// The values.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// Why a text is not a grid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// Neither form, or a part that is not a number from 0 up.
    #[error("{0:?} is not FROM:TO:STEP or V,V,... of numbers from 0 up, as in 0.1:1.6:0.1")]
    Form(String),
    /// A range that ends before it begins, or whose step does not advance.
    #[error("{0:?} does not go up")]
    Empty(String),
    /// Too many points.
    #[error("{0:?} has more than 10,000 points")]
    TooMany(String),
}

impl FromStr for Grid {
    type Err = GridError;

    fn from_str(text: &str) -> Result<Self, GridError> {
        let form = || GridError::Form(text.to_owned());
        let number = |part: &str| {
            let number = part.trim().parse::<f64>().map_err(|_| form())?;
            if number.is_finite() && number >= 0.0 { Ok(number + 0.0) } else { Err(form()) }
        };
        let mut values = if text.contains(':') {
            let parts = text.split(':').map(number).collect::<Result<Vec<_>, _>>()?;
            let [from, to, step] = parts[..] else { return Err(form()) };
            if to < from || step <= 0.0 {
                return Err(GridError::Empty(text.to_owned()));
            }
            // The rounding of a decimal fraction must not cost the last point.
            let steps = ((to - from) / step + 1e-9).floor();
            if steps >= MOST_POINTS {
                return Err(GridError::TooMany(text.to_owned()));
            }
            let at = |index: usize| ((from + index as f64 * step) * FINEST).round() / FINEST;
            (0..=steps as usize).map(at).collect()
        } else {
            text.split(',').map(number).collect::<Result<Vec<_>, _>>()?
        };
        values.sort_by(f64::total_cmp);
        values.dedup();
        Ok(Self { values })
    }
}

#[cfg(test)]
mod tests {
    use super::{Grid, GridError};

    fn values(text: &str) -> Result<Vec<f64>, GridError> {
        text.parse().map(|grid: Grid| grid.values().to_vec())
    }

    #[test]
    fn ranges_hold_both_ends_and_exact_decimals() {
        assert_eq!(values("0.1:0.5:0.1"), Ok(vec![0.1, 0.2, 0.3, 0.4, 0.5]));
        assert_eq!(values("0.1:1.6:0.1").map(|grid| grid.len()), Ok(16));
        assert_eq!(values("0:1:0.01").map(|grid| (grid.len(), grid[29], grid[100])), Ok((101, 0.29, 1.0)));
        assert_eq!(values("0:1:0.3"), Ok(vec![0.0, 0.3, 0.6, 0.9]));
        assert_eq!(values("2:2:1"), Ok(vec![2.0]));
        assert_eq!(values(" 0.9, 0.4,0.9"), Ok(vec![0.4, 0.9]));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "a", "1:2", "1:2:3:4", "0.1,", "-1,2", "NaN", "inf", "0:inf:1"] {
            assert!(matches!(values(text), Err(GridError::Form(_))), "{text:?}");
        }
        for text in ["2:1:0.1", "1:2:0"] {
            assert!(matches!(values(text), Err(GridError::Empty(_))), "{text:?}");
        }
        assert!(matches!(values("0:1:0.00001"), Err(GridError::TooMany(_))));
    }
}
