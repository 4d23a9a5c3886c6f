//! Searchers that are searched together and fused: their documents are matched, then as in run files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use toller_corpus::Score;
use toller_ir::{
    DocOrd, DocSet, Filter, Hit, Query, Ranking, SearchError, SearchRequest, SearchResponse, Searcher,
    StageRankings, Timing,
};

use super::error::FusionError;
use super::options::Fusion;
use super::pool::{BadEntry, Pool};
use super::shared::SharedDocuments;
use crate::search_job::within_memory;

/// What searchers that are fused must have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collections {
    /// The same documents, in any order: matched by identifier.
    #[default]
    Same,
    /// Nothing. A searcher does not find a document that is missing from its collection.
    MayDiffer,
}

/// A filter by the ordinals of one of the searchers.
struct OwnFilter {
    allowed: Option<DocSet>,
    excluded: Vec<Vec<DocOrd>>,
}

impl OwnFilter {
    fn borrowed(&self) -> Filter<'_> {
        Filter { allowed: self.allowed.as_ref(), excluded: &self.excluded }
    }
}

/// Several searchers, dense, sparse or any other, as one: each finds its best hits, and these are fused.
///
/// Its ordinals are the first searcher's; documents that are missing from the first come after. Its hits
/// equal those of [`fuse_runs`](super::fuse_runs) on the searchers' runs in the same order.
pub struct Hybrid {
    searchers: Vec<Arc<dyn Searcher>>,
    fusion: Fusion,
    weights: Vec<f64>,
    depth: usize,
    documents: SharedDocuments,
}

impl Hybrid {
    /// Fuses the best `depth` hits of each searcher.
    ///
    /// # Errors
    /// A fusion that does not fit, collections that differ but must not, identifiers that a collection has
    /// twice, and temporary files that cannot be written.
    pub fn new(
        searchers: Vec<Arc<dyn Searcher>>,
        fusion: Fusion,
        depth: usize,
        collections: Collections,
    ) -> Result<Self, FusionError> {
        fusion.check(searchers.len())?;
        let documents = SharedDocuments::of(&searchers, collections)?;
        let weights = fusion.weights_of(searchers.len());
        Ok(Self { searchers, fusion, weights, depth, documents })
    }

    /// Gives the documents of a searcher's rankings their shared ordinals.
    fn share(&self, list: usize, rankings: &mut [Ranking]) {
        let Some(shared) = self.documents.of_list(list) else { return };
        for hit in rankings.iter_mut().flat_map(|ranking| &mut ranking.hits) {
            hit.doc = shared.get(hit.doc);
        }
    }

    /// The `k` best documents of each query, from the rankings of each searcher. Each score counts as a
    /// reader of the searcher's run would read it, so that fusing the runs gives the same.
    fn fuse(
        &self,
        queries: &[Query],
        found: &[StageRankings],
        k: usize,
    ) -> Result<Vec<Ranking>, FusionError> {
        for (list, StageRankings { rankings, .. }) in (1..).zip(found) {
            if rankings.len() != queries.len() {
                let (rankings, queries) = (rankings.len(), queries.len());
                return Err(FusionError::RankingCount { list, rankings, queries });
            }
        }
        let fuse = |at: usize| self.fuse_one(found.iter().filter_map(|list| list.rankings.get(at)), k);
        let fused: Vec<Result<Ranking, BadEntry<DocOrd>>> =
            (0..queries.len()).into_par_iter().map(fuse).collect();
        let named = |(fused, query): (Result<Ranking, BadEntry<DocOrd>>, &Query)| {
            fused.map_err(|bad| bad.of_query(&query.id, |doc| self.doc_id(doc).into_owned()))
        };
        fused.into_iter().zip(queries).map(named).collect()
    }

    fn fuse_one<'r>(
        &self,
        rankings: impl Iterator<Item = &'r Ranking>,
        k: usize,
    ) -> Result<Ranking, BadEntry<DocOrd>> {
        let lists = rankings.map(|ranking| {
            let entry = |hit: &Hit| (hit.doc, Score::F32(hit.score).as_read());
            ranking.hits.iter().map(entry).collect()
        });
        let pool = Pool::new(lists.collect(), self.depth, &self.fusion)?;
        let fused = pool.fuse(self.fusion.combination, &self.weights, k)?;
        Ok(Ranking { hits: fused.into_iter().map(|(doc, score)| Hit::new(doc, score)).collect() })
    }

    /// A filter by the shared ordinals, as one by the ordinals of a searcher; `None` where both are the same.
    fn own_filter(&self, list: usize, filter: &Filter<'_>) -> Option<OwnFilter> {
        let shared = self.documents.of_list(list).filter(|_| !filter.admits_all())?;
        let excluded: DocSet = filter.excluded.iter().flatten().copied().collect();
        let own: HashMap<DocOrd, DocOrd> =
            shared.among(&excluded).map(|(own, shared)| (shared, own)).collect();
        let of_query = |docs: &Vec<DocOrd>| {
            let mut docs: Vec<DocOrd> = docs.iter().filter_map(|doc| own.get(doc).copied()).collect();
            docs.sort_unstable();
            docs
        };
        Some(OwnFilter {
            allowed: filter.allowed.map(|allowed| shared.among(allowed).map(|(own, _)| own).collect()),
            excluded: filter.excluded.iter().map(of_query).collect(),
        })
    }
}

impl Searcher for Hybrid {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        request.check()?;
        let mut response = SearchResponse::default();
        let mut found: Vec<StageRankings> = Vec::with_capacity(self.searchers.len());
        for (list, searcher) in self.searchers.iter().enumerate() {
            let shared_stages = response.before.len();
            let own = self.own_filter(list, &request.filter);
            let filter = own.as_ref().map_or(request.filter, |own| own.borrowed());
            let of_list = searcher.search(&SearchRequest { k: self.depth, filter, ..*request })?;
            response.add_nominated(&of_list.nominated);
            found.push(StageRankings { stage: of_list.last_stage(), rankings: of_list.rankings });
            response.timings.extend(of_list.timings);
            response.before.extend(of_list.before);
            for stage in response.before.iter_mut().skip(shared_stages).chain(found.last_mut()) {
                self.share(list, &mut stage.rankings);
            }
        }
        let started = Instant::now();
        response.rankings = self.fuse(request.queries, &found, request.k)?;
        response.before.extend(found);
        response.timings.push(Timing { stage: "fuse", duration: started.elapsed() });
        Ok(response)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        match self.documents.place(doc) {
            Some(place) => place.id(&self.searchers),
            None => Cow::Borrowed(""),
        }
    }

    fn doc_count(&self) -> usize {
        self.documents.count()
    }

    /// As many as any of the searchers wants, if the hits of all have room.
    fn queries_at_once(&self) -> Option<usize> {
        let wanted = self.searchers.iter().filter_map(|searcher| searcher.queries_at_once()).max()?;
        let hits = self.depth.min(self.doc_count()).saturating_mul(self.searchers.len());
        Some(within_memory(wanted, hits))
    }
}
