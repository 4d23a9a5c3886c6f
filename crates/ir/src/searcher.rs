//! The interface of everything that retrieves.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::{AnyError, DocOrd, DocSet, Explain, Hit, Query, Remedy, Setting, remedy};

/// The hits of one query, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranking {
    /// At most k hits, in the order of [`Hit`].
    pub hits: Vec<Hit>,
}

/// What is searched for.
#[derive(Clone, Copy, Debug)]
pub struct SearchRequest<'a> {
    /// The queries.
    pub queries: &'a [Query],
    /// The most hits of a query.
    pub k: usize,
    /// The documents that may be hits.
    pub filter: Filter<'a>,
}

/// Documents that a search leaves out, by the searcher's own ordinals. The hits are the best k of the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// The only documents that may be hits; `None` for all.
    pub allowed: Option<&'a DocSet>,
    /// For each query, documents that may not be its hits, in ascending order; empty for none at all.
    pub excluded: &'a [Vec<DocOrd>],
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct SearchResponse {
    /// One ranking a query, in the order of the request.
    pub rankings: Vec<Ranking>,
    /// For each query, how many vectors a dense scan nominated to be scored again. It says what a scan costs,
    /// not what it finds. Empty where no vectors were scanned.
    pub nominated: Vec<usize>,
    /// How long each stage took, in the order of the stages.
    pub timings: Vec<Timing>,
    /// What the stages before the last one found, in their order. Empty if one stage found the hits.
    pub before: Vec<StageRankings>,
}

/// What a stage of a search found, before the next stage changed the order or the scores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageRankings {
    /// The stage, as in [`Timing`]: `scan`, `postings` or `fuse`.
    pub stage: &'static str,
    /// One ranking a query, by the ordinals of the whole search.
    pub rankings: Vec<Ranking>,
}

/// How long a stage of a search took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The stage: `encode`, `scan`, `postings`, `fuse` or `rerank`.
    pub stage: &'static str,
    /// The time it took, for all queries of the request.
    pub duration: Duration,
}

/// Any error of a search, with the typed error of the searcher inside.
pub type SearchError = AnyError;

/// A request that no searcher can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No hits were asked for.
    #[error("k is 0")]
    ZeroK,
    /// Exclusions that are not one list a query.
    #[error("{lists} lists of excluded documents for {queries} queries")]
    ExclusionShape {
        /// The number of lists.
        lists: usize,
        /// The number of queries.
        queries: usize,
    },
}

impl Explain for RequestError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::ZeroK => {
                Some(remedy!("ask for at least one hit, for instance `{}`", Setting::K.to("1000")))
            }
            Self::ExclusionShape { .. } => None,
        }
    }
}

/// Something that retrieves documents for queries: dense, sparse, hybrid, reranked.
pub trait Searcher: Send + Sync {
    /// The k best documents for each query.
    ///
    /// # Errors
    /// Whatever the searcher cannot do as asked; never a shortened or approximate answer.
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError>;

    /// The identifier of a document that this searcher returned; owned where it is kept packed.
    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str>;

    /// The number of documents that can be retrieved.
    fn doc_count(&self) -> usize;

    /// The queries that are best searched together, where every search reads again what queries can share.
    /// `None` where a few queries use the machine fully.
    fn queries_at_once(&self) -> Option<usize> {
        None
    }
}

impl<S: Searcher + ?Sized> Searcher for Arc<S> {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        (**self).search(request)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        (**self).doc_id(doc)
    }

    fn doc_count(&self) -> usize {
        (**self).doc_count()
    }

    fn queries_at_once(&self) -> Option<usize> {
        (**self).queries_at_once()
    }
}

impl<'a> SearchRequest<'a> {
    /// The `k` best of all documents.
    #[must_use]
    pub fn new(queries: &'a [Query], k: usize) -> Self {
        Self { queries, k, filter: Filter::default() }
    }

    /// Checks what every searcher relies on.
    ///
    /// # Errors
    /// [`RequestError`] if no hits are asked for, or the filter is of another number of queries.
    pub fn check(&self) -> Result<(), RequestError> {
        let (lists, queries) = (self.filter.excluded.len(), self.queries.len());
        if self.k == 0 {
            return Err(RequestError::ZeroK);
        }
        if lists != 0 && lists != queries {
            return Err(RequestError::ExclusionShape { lists, queries });
        }
        Ok(())
    }
}

impl SearchResponse {
    /// Adds the nominated of another scan for the same queries.
    pub fn add_nominated(&mut self, nominated: &[usize]) {
        self.nominated.resize(self.nominated.len().max(nominated.len()), 0);
        self.nominated.iter_mut().zip(nominated).for_each(|(sum, count)| *sum += count);
    }

    /// The stage that found the rankings.
    #[must_use]
    pub fn last_stage(&self) -> &'static str {
        self.timings.last().map_or("search", |timing| timing.stage)
    }
}

impl Filter<'_> {
    /// Whether `doc` may be a hit of `query`, by its place in the request.
    #[inline]
    #[must_use]
    pub fn admits(&self, query: usize, doc: DocOrd) -> bool {
        self.allowed.is_none_or(|allowed| allowed.contains(doc))
            && self.excluded.get(query).is_none_or(|excluded| excluded.binary_search(&doc).is_err())
    }

    /// Whether every document may be a hit of every query.
    #[must_use]
    pub fn admits_all(&self) -> bool {
        self.allowed.is_none() && self.excluded.is_empty()
    }
}
