//! A first stage and a reranker as one searcher.

use std::borrow::Cow;
use std::sync::Arc;

use toller_ir::{DocOrd, SearchError, SearchRequest, SearchResponse, Searcher, StageRankings, Timing};

use super::Stop;
use super::reranker::Reranker;

/// A searcher whose best hits are reranked. It is a searcher itself, so that stages can follow each other:
/// 1,000 hits by a small model, the best 50 of them by a large one.
pub struct RerankedSearcher {
    first_stage: Arc<dyn Searcher>,
    reranker: Arc<Reranker>,
}

impl RerankedSearcher {
    /// Reranks what `first_stage` finds.
    #[must_use]
    pub fn new(first_stage: Arc<dyn Searcher>, reranker: Arc<Reranker>) -> Self {
        Self { first_stage, reranker }
    }

    /// Searches as deep as is reranked, however few hits are asked for, so that these are the best of all
    /// that is reranked.
    ///
    /// # Errors
    /// As [`Searcher::search`]; [`RerankError::Stopped`](super::RerankError::Stopped) once `stop` says so.
    pub fn search_until(
        &self,
        request: &SearchRequest<'_>,
        stop: Stop<'_>,
    ) -> Result<SearchResponse, SearchError> {
        request.check()?;
        let depth = self.reranker.options().depth.max(request.k);
        let mut response = self.first_stage.search(&SearchRequest { k: depth, ..*request })?;
        let found = std::mem::take(&mut response.rankings);
        let (rankings, report) =
            self.reranker.rerank_rankings(&*self.first_stage, request.queries, &found, request.k, stop)?;
        response.rankings = rankings;
        response.before.push(StageRankings { stage: response.last_stage(), rankings: found });
        response.timings.push(Timing { stage: "rerank", duration: report.duration });
        Ok(response)
    }
}

impl Searcher for RerankedSearcher {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        self.search_until(request, &|| false)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.first_stage.doc_id(doc)
    }

    fn doc_count(&self) -> usize {
        self.first_stage.doc_count()
    }

    fn queries_at_once(&self) -> Option<usize> {
        self.first_stage.queries_at_once()
    }
}
