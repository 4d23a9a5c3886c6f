//! What a search found.

use toller_ir::Ranking;

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopK {
    /// The hits of each query, best first.
    pub rankings: Vec<Ranking>,
    /// For each query, how many vectors the scan nominated for scoring. The number depends on the scan, the
    /// threads and their timing.
    pub nominated: Vec<usize>,
}
