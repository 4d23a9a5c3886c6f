//! Numbers with all their digits, for programs.

/// A number with all its digits. A very small one has an exponent in the place of a row of zeros.
#[must_use]
pub fn exact(number: f64) -> String {
    if number != 0.0 && number.abs() < 1e-5 { format!("{number:e}") } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn small_numbers_have_an_exponent() {
        assert_eq!([0.0, 0.05, -1.5, 8.9e-46].map(exact), ["0", "0.05", "-1.5", "8.9e-46"]);
    }
}
