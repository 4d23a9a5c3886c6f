//! Numbers on the command line.

use crate::error::UsageError;

/// A share that is neither nothing nor all.
pub fn inner_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "a number between 0 and 1, such as 0.95".to_owned())
}

/// A distance.
pub fn above_0(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "a number above 0".to_owned())
}

/// Parses a number, which is neither infinite nor none.
pub fn finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| "a number".to_owned())
}

/// Refuses limits of scores, each with its flag, between which no score lies.
pub fn check_limits((low, least): (&str, f64), (high, most): (&str, f64)) -> Result<(), UsageError> {
    if least <= most {
        return Ok(());
    }
    let message = format!("no score is from {least} ({low}) to {most} ({high})");
    Err(UsageError::new(message, format!("give {high} a number of at least {low}")))
}
