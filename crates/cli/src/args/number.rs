//! Numbers on the command line.

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
