//! A first stage and a reranker as one searcher.

use std::borrow::Cow;
use std::sync::Arc;

use toller_corpus::Score;
use toller_ir::{
    DocOrd, Hit, Ranking, SearchError, SearchRequest, SearchResponse, Searcher, StageRankings, Timing,
};

use super::Stop;
use super::reranker::{Candidates, Reranker};

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
    /// that is reranked. Scores count as a reader of the first stage's run would get them, so that the result
    /// is the same as with `toller rerank`.
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
        let ids = |ranking: &Ranking| ranking.hits.iter().map(|hit| self.doc_id(hit.doc)).collect();
        let ids: Vec<Vec<Cow<'_, str>>> = found.iter().map(ids).collect();
        let candidates: Vec<Candidates<'_>> = request
            .queries
            .iter()
            .zip(found.iter().zip(&ids))
            .map(|(query, (ranking, ids))| Candidates {
                query_id: &query.id,
                query_text: Some(&query.text),
                hits: ids
                    .iter()
                    .zip(&ranking.hits)
                    .map(|(id, hit)| (id.as_ref(), Score::F32(hit.score).as_read()))
                    .collect(),
            })
            .collect();
        let reranked = self.reranker.rerank(&candidates, stop, |_| {})?;
        let ranking = |(ranking, ranked): (&Ranking, Vec<super::Ranked>)| Ranking {
            hits: ranked
                .iter()
                .take(request.k)
                .map(|hit| Hit::new(ranking.hits[hit.place].doc, hit.score))
                .collect(),
        };
        response.rankings = found.iter().zip(reranked.queries).map(ranking).collect();
        response.before.push(StageRankings { stage: response.last_stage(), rankings: found });
        response.timings.push(Timing { stage: "rerank", duration: reranked.report.duration });
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
}
