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

/// As many of the `wanted` queries as can be searched together: the hits of all, `hits` a query, have to fit
/// the memory.
#[must_use]
pub fn within_memory(wanted: usize, hits: usize) -> usize {
    (HITS / hits.max(1)).clamp(1, wanted.max(1))
}

impl<'a> SearchJob<'a> {
    /// The queries of a block, unless the searcher wants others: enough to use a machine fully.
    pub const QUERIES: usize = 1024;

    /// Searches as many queries at a time as the searcher wants. `take` gets the hits of each block, in the
    /// order of the queries.
    ///
    /// # Errors
    /// Those of [`Searcher::search`] and of `take`.
    pub fn run<E: From<SearchError>>(
        &self,
        take: impl FnMut(&'a [Query], SearchResponse) -> Result<(), E>,
    ) -> Result<(), E> {
        self.run_by(self.at_once(Self::QUERIES), take)
    }

    /// As [`SearchJob::run`], with at most `most` queries at a time.
    pub(crate) fn run_by<E: From<SearchError>>(
        &self,
        most: usize,
        mut take: impl FnMut(&'a [Query], SearchResponse) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_block(most, |queries, filter| {
            let found = self.searcher.search(&SearchRequest { queries, k: self.k, filter })?;
            take(queries, found)
        })
    }

    /// The queries of a block: as many as the searcher wants, or `usual`.
    #[must_use]
    pub fn at_once(&self, usual: usize) -> usize {
        self.searcher.queries_at_once().unwrap_or(usual)
    }

    /// As [`SearchJob::run`], for searches with results of their own: `search` gets each block, of at most
    /// `most` queries, fewer where their hits would fill the memory, with what its queries leave out.
    ///
    /// # Errors
    /// Those of `search`.
    pub fn each_block<E>(
        &self,
        most: usize,
        mut search: impl FnMut(&'a [Query], Filter<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let hits = self.k.min(self.searcher.doc_count());
        for queries in self.queries.chunks(within_memory(most, hits)) {
            self.filter.with(queries, |filter| search(queries, filter))?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::borrow::Cow;
    use std::sync::{Arc, Mutex};

    use toller_ir::{
        DocOrd, Hit, Query, Ranking, SearchError, SearchRequest, SearchResponse, Searcher, locked,
    };

    use super::SearchJob;
    use crate::QueryFilter;
    use crate::fusion::{Collections, Hybrid, METHODS};

    /// Finds for each query the document of its number, and notes how many queries it is asked for together.
    pub(crate) struct Counting {
        wanted: Option<usize>,
        documents: usize,
        requests: Mutex<Vec<usize>>,
    }

    impl Counting {
        pub(crate) fn new(wanted: Option<usize>, documents: usize) -> Self {
            Self { wanted, documents, requests: Mutex::default() }
        }

        pub(crate) fn requests(&self) -> Vec<usize> {
            locked(&self.requests).clone()
        }
    }

    impl Searcher for Counting {
        fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
            locked(&self.requests).push(request.queries.len());
            let hit = |query: &Query| Hit::new(DocOrd(query.id.parse().unwrap()), 1.0);
            let rankings = request.queries.iter().map(|query| Ranking { hits: vec![hit(query)] }).collect();
            Ok(SearchResponse { rankings, ..SearchResponse::default() })
        }

        fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
            doc.0.to_string().into()
        }

        fn doc_count(&self) -> usize {
            self.documents
        }

        fn queries_at_once(&self) -> Option<usize> {
            self.wanted
        }
    }

    /// Queries whose identifiers are numbers.
    pub(crate) fn queries(count: usize) -> Vec<Query> {
        (0..count).map(|number| Query { id: number.to_string(), ..Query::default() }).collect()
    }

    pub(crate) fn job<'a>(
        searcher: &'a dyn Searcher,
        queries: &'a [Query],
        k: usize,
        filter: &'a QueryFilter,
    ) -> SearchJob<'a> {
        SearchJob { searcher, queries, k, filter }
    }

    #[test]
    fn blocks_are_as_large_as_the_searcher_wants_and_memory_allows() {
        let (queries, filter) = (queries(10_000), QueryFilter::default());
        for (wanted, documents, k, expected) in [
            (None, 9_000_000, 1000, vec![1024; 9]),
            (Some(8192), 9_000_000, 1000, vec![8192, 1808]),
            (Some(8192), 9_000_000, 2000, vec![4194, 4194, 1612]),
            (Some(8192), 100, 2000, vec![8192, 1808]),
            (None, 9_000_000, 100_000, vec![83; 120]),
        ] {
            let searcher = Counting::new(wanted, documents);
            job(&searcher, &queries, k, &filter).run(|_, _| Ok::<_, SearchError>(())).unwrap();
            assert_eq!(searcher.requests()[..expected.len()], expected, "k {k} of {documents}");
            assert_eq!(searcher.requests().iter().sum::<usize>(), queries.len());
        }
    }

    #[test]
    fn a_hybrid_wants_what_one_of_its_searchers_wants() {
        let hybrid = |wanted: [Option<usize>; 2], depth| {
            let searchers = wanted.map(|wanted| Arc::new(Counting::new(wanted, 10)) as Arc<dyn Searcher>);
            let fusion = METHODS[0].fusion();
            Hybrid::new(searchers.to_vec(), fusion, depth, Collections::Same).unwrap().queries_at_once()
        };
        assert_eq!(hybrid([None, None], 10), None);
        assert_eq!(hybrid([None, Some(8192)], 10), Some(8192));
        assert_eq!(hybrid([Some(1 << 30), None], 10), Some((8 << 20) / 20), "the hits of both lists");
    }
}
