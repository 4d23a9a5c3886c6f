//! The time of searches by terms, of many queries together and of one alone.

use std::time::Instant;

use toller_ir::{Query, SearchError, SearchRequest, Searcher};

use crate::{Budget, Timings, measure};

/// Searches for the best `k`.
#[derive(Clone, Debug, PartialEq)]
pub struct SparsePoint {
    /// Hits of a query, at most.
    pub k: usize,
    /// Queries that are searched together.
    pub queries: usize,
    /// Hits of all queries.
    pub hits: usize,
    /// Seconds of all queries together.
    pub together: Timings,
    /// Seconds of a query alone.
    pub alone: Timings,
}

impl SparsePoint {
    /// Queries a second, by the median round of all together.
    #[must_use]
    pub fn queries_per_sec(&self) -> f64 {
        self.queries as f64 / self.together.median()
    }
}

/// Measures searches for `queries`, at least one: all of them together within `together`, and one after the
/// other within `alone`. The time includes the analysis of the queries.
///
/// # Errors
/// Those of the search.
pub fn measure_sparse(
    searcher: &dyn Searcher,
    queries: &[Query],
    k: usize,
    together: &Budget,
    alone: &Budget,
) -> Result<SparsePoint, SearchError> {
    let mut hits = 0;
    let mut search = |queries: &[Query]| {
        let began = Instant::now();
        let response = searcher.search(&SearchRequest::new(queries, k))?;
        let time = began.elapsed();
        hits = response.rankings.iter().map(|ranking| ranking.hits.len()).sum();
        Ok::<_, SearchError>(time)
    };
    let alone = measure(alone, |round| search(&queries[round % queries.len()..][..1]))?;
    let together = measure(together, |_| search(queries))?;
    Ok(SparsePoint { k, queries: queries.len(), hits, together, alone })
}
