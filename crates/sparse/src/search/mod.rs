//! Searching: the best documents of a query, exactly.
//!
//! Documents are scored in windows of [`WINDOW`] ordinals, term by term, into one array of sums that stays in the first-level
//! cache. Pseudo-code of a window, where `least` is a sum that only better documents than the k-th best so far reach:
//!
//! ```text
//! bound(t)      = the largest part of t in a block that overlaps the window
//! others        = the terms of the smallest bounds, as many as together stay below least     (MaxScore)
//! for t not in others: add the parts of its postings, but of blocks whose bound and the other terms' bounds stay below least
//! candidates    = documents whose sum and the bounds of others reach least
//! for t in others, the largest bound first:
//!     keep the candidates whose sum and the bounds of what is left of others reach least
//!     add the parts of t, looked up for few candidates, added for all documents for many
//! offer the candidates that reach least
//! ```
//!
//! Parts are integers, so the sums of the documents offered are whole and the same in any order (see [`crate::score`]), and the
//! result is that of scoring everything. The cost model: a posting costs one or two nanoseconds to unpack and about two to add, a
//! window the passes over 16 KiB in the cache, a lookup the unpacking of a block. Which documents count is too irregular for
//! branches to be foreseen, so that what is done for every group, block or candidate has none.

mod candidates;
mod cursor;
mod exhaustive;
mod parts;
mod spare;
mod sums;
mod top;
mod window;
mod zeros;

use rayon::prelude::*;
use toller_ir::{DocOrd, Ranking};

use crate::{Scoring, SparseError, SparseIndex, SparseQuery};

pub use self::window::Search;

/// Documents that are scored together.
pub(crate) const WINDOW: usize = 4096;

impl SparseIndex {
    /// The `k` best documents that have a term of the query: by score descending, then ordinal ascending.
    ///
    /// # Errors
    /// When a parameter is out of its range, or the index is damaged, which only one that was opened without verification
    /// can be.
    pub fn search(&self, query: &SparseQuery, scoring: &Scoring, k: usize) -> Result<Ranking, SparseError> {
        self.search_among(query, scoring, k, |_| true)
    }

    /// [`SparseIndex::search`] among the documents that `admits` says yes to.
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
        scoring.ranker.check()?;
        Search::new(self, *scoring).run(query, k, &admits)
    }

    /// [`SparseIndex::search`] for each query, in rayon's current pool.
    ///
    /// # Errors
    /// As [`SparseIndex::search`].
    pub fn search_all(
        &self,
        queries: &[SparseQuery],
        scoring: &Scoring,
        k: usize,
    ) -> Result<Vec<Ranking>, SparseError> {
        self.search_each(queries, scoring, |search, query| search.run(query, k, &|_| true))
    }

    /// What `work` makes of each query, in rayon's current pool. The memory of one search serves many queries.
    ///
    /// # Errors
    /// When a parameter is out of its range, and those of `work`.
    pub fn search_each<Q: Sync, R: Send>(
        &self,
        queries: &[Q],
        scoring: &Scoring,
        work: impl Fn(&mut Search<'_>, &Q) -> Result<R, SparseError> + Sync,
    ) -> Result<Vec<R>, SparseError> {
        scoring.ranker.check()?;
        queries
            .par_iter()
            .map_init(|| Search::new(self, *scoring), |search, query| work(search, query))
            .collect()
    }
}
