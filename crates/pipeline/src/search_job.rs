//! Searching for many queries, a block at a time.

use toller_ir::{Filter, Query, SearchError, SearchRequest, SearchResponse, Searcher};

use crate::QueryFilter;

/// Queries that are searched a block at a time: memory stays bounded, and progress shows.
#[derive(Clone, Copy)]
pub struct SearchJob<'a> {
    /// What is searched.
    pub searcher: &'a dyn Searcher,
    /// The queries, in the order of the results.
    pub queries: &'a [Query],
    /// Hits of a query, at most.
    pub k: usize,
    /// What is left out.
    pub filter: &'a QueryFilter,
}

/// The most hits in memory, unless a single query has more.
const HITS: usize = 8 << 20;

impl<'a> SearchJob<'a> {
    /// The most queries of a block: enough to use a machine fully.
    pub const QUERIES: usize = 1024;

    /// Searches at most `most` queries at a time, fewer where their hits would fill the memory. `take` gets
    /// the hits of each block, in the order of the queries.
    ///
    /// # Errors
    /// Those of [`Searcher::search`] and of `take`.
    pub fn run<E: From<SearchError>>(
        &self,
        most: usize,
        mut take: impl FnMut(&'a [Query], SearchResponse) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_block(most, |queries, filter| {
            let found = self.searcher.search(&SearchRequest { queries, k: self.k, filter })?;
            take(queries, found)
        })
    }

    /// As [`SearchJob::run`], for searches with results of their own: `search` gets each block with what its
    /// queries leave out.
    ///
    /// # Errors
    /// Those of `search`.
    pub fn each_block<E>(
        &self,
        most: usize,
        mut search: impl FnMut(&'a [Query], Filter<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let hits = self.k.min(self.searcher.doc_count()).max(1);
        for queries in self.queries.chunks((HITS / hits).clamp(1, most)) {
            self.filter.with(queries, |filter| search(queries, filter))?;
        }
        Ok(())
    }
}
