//! Searchers that are searched together and fused.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use toller_ir::{DocOrd, Ranking, SearchError, SearchRequest, SearchResponse, Searcher, Timing};

use super::error::FusionError;
use super::fuser::{Collections, RankingFuser};
use super::options::Fusion;

/// Several searchers, dense, sparse or any other, as one: each finds its best hits, and these are fused.
///
/// Its ordinals are those of the first searcher; documents that the first does not have come after. What it
/// returns is what [`fuse_runs`](super::fuse_runs) makes of the searchers' runs in the same order.
pub struct Hybrid {
    searchers: Vec<Arc<dyn Searcher>>,
    fuser: RankingFuser,
}

impl Hybrid {
    /// Fuses the best `depth` hits of each searcher.
    ///
    /// # Errors
    /// As [`RankingFuser::new`].
    pub fn new(
        searchers: Vec<Arc<dyn Searcher>>,
        fusion: Fusion,
        depth: usize,
        collections: Collections,
    ) -> Result<Self, FusionError> {
        let fuser = RankingFuser::new(&borrowed(&searchers), fusion, depth, collections)?;
        Ok(Self { searchers, fuser })
    }
}

fn borrowed(searchers: &[Arc<dyn Searcher>]) -> Vec<&dyn Searcher> {
    searchers.iter().map(|searcher| &**searcher).collect()
}

impl Searcher for Hybrid {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        request.check()?;
        let mut response = SearchResponse::default();
        let mut found: Vec<Vec<Ranking>> = Vec::with_capacity(self.searchers.len());
        for (list, searcher) in self.searchers.iter().enumerate() {
            let own = self.fuser.own_filter(list, &request.filter);
            let filter = own.as_ref().map_or(request.filter, |own| own.borrowed());
            let of_list = searcher.search(&SearchRequest { k: self.fuser.depth(), filter, ..*request })?;
            response.add_nominated(&of_list.nominated);
            response.timings.extend(of_list.timings);
            found.push(of_list.rankings);
        }
        let started = Instant::now();
        let ids: Vec<&str> = request.queries.iter().map(|query| query.id.as_str()).collect();
        response.rankings = self.fuser.fuse(&borrowed(&self.searchers), &ids, &found, request.k)?;
        response.timings.push(Timing { stage: "fuse", duration: started.elapsed() });
        Ok(response)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.fuser.doc_id(&borrowed(&self.searchers), doc)
    }

    fn doc_count(&self) -> usize {
        self.fuser.doc_count()
    }
}
