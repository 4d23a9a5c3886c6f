//! Parameters chosen by a measure on judged queries: every point of a grid is tried.
//!
//! Among points of the same value the first is chosen: the smallest value of the first parameter, then of the
//! second.

mod alpha;
mod bm25;
mod error;
mod grid;
mod judging;

pub use alpha::tune_alpha;
pub use bm25::{Bm25Grid, tune_bm25};
pub use error::TuneError;
pub use grid::{Grid, GridError};
pub use judging::Judging;

/// The values of the measure, and the best point.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The value of the measure for each point of the grid.
    pub values: Vec<f64>,
    /// The first of the points with the highest value.
    pub best: usize,
}

impl Tuned {
    fn new(values: Vec<f64>) -> Self {
        let mut best = 0;
        for (at, value) in values.iter().enumerate() {
            if values.get(best).is_none_or(|highest| value > highest) {
                best = at;
            }
        }
        Self { values, best }
    }
}
