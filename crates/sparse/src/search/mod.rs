//! Searching: the best documents of a query, exactly.
//!
//! Documents are scored in windows of [`WINDOW`] ordinals, term by term, in one array of sums that stays in
//! the first-level cache. Pseudo-code of a window, where a document needs at least the sum `least` to beat
//! the k-th best:
//!
//! ```text
//! bound(t)      = the largest part of t in a block that overlaps the window
//! others        = the terms of the smallest bounds, as many as together stay below least     (MaxScore)
//! for t not in others: add the parts of its postings, except in blocks whose bounds add up to below least
//! candidates    = documents whose sum and the bounds of others reach least
//! for t in others, the largest bound first:
//!     keep the candidates whose sum and the bounds of the rest of others reach least
//!     add the parts of t: look up the candidates if they are few, otherwise add all postings of the window
//! offer the candidates that reach least
//! ```
//!
//! Parts are integers, so sums are the same in any order (see [`crate::score`]), and the result is the same
//! as with scoring everything. Costs: one or two nanoseconds to unpack a posting and about two to add it; for
//! a window the passes over 16 KiB in the cache; for a lookup the unpacking of a block. Which documents count
//! is irregular, so branches on it would be mispredicted: the inner loops have none.

mod candidates;
mod cursor;
mod score_parts;
mod scratch;
mod sums;
mod top_k;
mod window;
mod zero_scores;

use rayon::prelude::*;
use toller_ir::{DocOrd, Ranking};

use crate::{Scoring, SparseError, SparseIndex, SparseQuery};

pub use self::window::Search;

/// The number of documents that are scored together.
pub(crate) const WINDOW: usize = 4096;

impl SparseIndex {
    /// The `k` best documents that have a term of the query: by score descending, then ordinal ascending.
    ///
    /// # Errors
    /// Those of [`SparseIndex::check_scoring`], and when the index is damaged and was opened without
    /// verification.
    pub fn search(&self, query: &SparseQuery, scoring: &Scoring, k: usize) -> Result<Ranking, SparseError> {
        self.search_among(query, scoring, k, |_| true)
    }

    /// [`SparseIndex::search`] among the documents that `admits` accepts.
    ///
    /// # Errors
    /// As [`SparseIndex::search`].
    pub fn search_among(
        &self,
        query: &SparseQuery,
        scoring: &Scoring,
        k: usize,
        admits: impl Fn(DocOrd) -> bool,
    ) -> Result<Ranking, SparseError> {
        Search::new(self, *scoring).run(query, k, &admits)
    }

    /// Calls `work` for each query, in rayon's current pool. One [`Search`] serves many queries.
    ///
    /// # Errors
    /// Those of [`SparseIndex::check_scoring`], and those of `work`.
    pub fn search_each<Q: Sync, R: Send>(
        &self,
        queries: &[Q],
        scoring: &Scoring,
        work: impl Fn(&mut Search<'_>, &Q) -> Result<R, SparseError> + Sync,
    ) -> Result<Vec<R>, SparseError> {
        self.check_scoring(scoring)?;
        queries
            .par_iter()
            .map_init(|| Search::new(self, *scoring), |search, query| work(search, query))
            .collect()
    }
}
