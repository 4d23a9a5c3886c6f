//! Searchers that are searched together and fused.

use std::borrow::Cow;

use toller_ir::{DocOrd, Query, Ranking, SearchError, Searcher};

use super::error::FusionError;
use super::fuser::{Collections, RankingFuser};
use super::options::Fusion;

/// Several searchers, dense, sparse or any other, as one: each finds its best hits, and these are fused.
///
/// Its ordinals are those of the first searcher. What it returns is what [`fuse_runs`](super::fuse_runs) makes of the
/// searchers' runs in the same order.
pub struct Hybrid {
    searchers: Vec<Box<dyn Searcher + Send + Sync>>,
    fuser: RankingFuser,
}

impl Hybrid {
    /// Fuses the best `depth` hits of each searcher.
    ///
    /// # Errors
    /// As [`RankingFuser::new`].
    pub fn new(
        searchers: Vec<Box<dyn Searcher + Send + Sync>>,
        fusion: Fusion,
        depth: usize,
        collections: Collections,
    ) -> Result<Self, FusionError> {
        let fuser = RankingFuser::new(&borrowed(&searchers), fusion, depth, collections)?;
        Ok(Self { searchers, fuser })
    }
}

fn borrowed(searchers: &[Box<dyn Searcher + Send + Sync>]) -> Vec<&dyn Searcher> {
    searchers.iter().map(|searcher| &**searcher as &dyn Searcher).collect()
}

impl Searcher for Hybrid {
    fn search(&self, queries: &[Query], k: usize) -> Result<Vec<Ranking>, SearchError> {
        let depth = self.fuser.depth();
        let found: Vec<Vec<Ranking>> = self
            .searchers
            .iter()
            .map(|searcher| searcher.search(queries, depth))
            .collect::<Result<_, _>>()?;
        let ids: Vec<&str> = queries.iter().map(|query| query.id.as_str()).collect();
        Ok(self.fuser.fuse(&borrowed(&self.searchers), &ids, &found, k)?)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.fuser.doc_id(&borrowed(&self.searchers), doc)
    }

    fn doc_count(&self) -> usize {
        self.fuser.doc_count()
    }
}
