//! Values as distances from a mean, in standard deviations.

use std::collections::HashMap;

use super::TrecEvalError;

/// What counts where no mean is known.
const MISSING: f64 = -1_000_000.0;

/// The mean and the standard deviation of each measure on each query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZScores {
    by_query: HashMap<String, HashMap<String, (f64, f64)>>,
}

impl ZScores {
    /// Reads lines of a query, a measure, a mean and a standard deviation.
    ///
    /// # Errors
    /// If a line has other columns.
    pub fn parse(text: &str) -> Result<Self, TrecEvalError> {
        let mut scores = Self::default();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let columns: Vec<&str> = line.split_ascii_whitespace().collect();
            let expected = "four columns: query, measure, mean, standard deviation";
            let bad = || TrecEvalError::Line { line: number, expected };
            let [query, measure, mean, deviation] = columns[..] else { return Err(bad()) };
            let pair = (mean.parse().map_err(|_| bad())?, deviation.parse().map_err(|_| bad())?);
            scores.by_query.entry(query.to_owned()).or_default().insert(measure.to_owned(), pair);
        }
        Ok(scores)
    }

    /// The value's distance from the mean.
    pub(super) fn convert(&self, query: &str, measure: &str, value: f64) -> f64 {
        match self.by_query.get(query).and_then(|measures| measures.get(measure)) {
            Some((mean, deviation)) if *deviation != 0.0 => (value - mean) / deviation,
            Some((mean, _)) if *mean == value => 0.0,
            _ => MISSING,
        }
    }
}
