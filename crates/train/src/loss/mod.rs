//! Losses, and their gradients with respect to vectors or logits, in f64.

mod cross;
mod dual;
mod ranking;
mod softmax;
mod tokens;

pub use cross::CrossLoss;
pub use dual::{DualLoss, DualLossName, DualObjective, Similarity};
pub(crate) use tokens::token_loss;

use std::ops::Range;

/// Which candidates belong to which query of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    /// Where the candidates of each query start, and the end. The first of a query's candidates is its
    /// positive.
    pub starts: Vec<usize>,
    /// What a teacher says of each candidate; empty for no teacher.
    pub scores: Vec<f64>,
    /// The label of each candidate: 1 for a positive, 0 for a negative, or between; or its grade.
    pub labels: Vec<f64>,
}

impl Groups {
    /// The number of queries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no query.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The candidates of each query.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|bounds| bounds[0]..bounds[1])
    }
}
