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
    /// The shared ordinals of each searcher's documents; `None` where they are its own.
    shared: Vec<Option<Vec<DocOrd>>>,
    first_count: usize,
    /// The documents that are missing from the first searcher.
    others: Vec<String>,
}

impl Hybrid {
    /// Fuses the best `depth` hits of each searcher.
    ///
    /// # Errors
    /// A fusion that does not fit, collections that differ but must not, and identifiers that a collection
    /// has twice.
    pub fn new(
        searchers: Vec<Arc<dyn Searcher>>,
        fusion: Fusion,
        depth: usize,
        collections: Collections,
    ) -> Result<Self, FusionError> {
        fusion.check(searchers.len())?;
        let first_count = searchers.first().map_or(0, |first| first.doc_count());
        let (mut shared, mut others) = (vec![None; searchers.len()], Vec::new());
        if let Some((first, rest)) = searchers.split_first() {
            let mut by_id = None;
            for (list, other) in (1..).zip(rest) {
                if is_same_order(first, other) {
                    continue;
                }
                let by_id = match &mut by_id {
                    Some(by_id) => by_id,
                    none => none.insert(ordinals(first, 0)?),
                };
                shared[list] = Some(matched(first, other, list, collections, by_id, &mut others)?);
            }
        }
        let weights = fusion.weights_of(searchers.len());
        Ok(Self { searchers, fusion, weights, depth, shared, first_count, others })
    }

    /// Gives the documents of a searcher's rankings their shared ordinals.
    fn share(&self, list: usize, rankings: &mut [Ranking]) {
        let Some(shared) = &self.shared[list] else { return };
        for hit in rankings.iter_mut().flat_map(|ranking| &mut ranking.hits) {
            hit.doc = shared[hit.doc.index()];
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
        let shared = self.shared[list].as_ref().filter(|_| !filter.admits_all())?;
        let of = |wanted: &DocSet| {
            let own = (0..).map(DocOrd).zip(shared);
            own.filter(|(_, shared)| wanted.contains(**shared)).collect::<Vec<_>>()
        };
        let excluded: DocSet = filter.excluded.iter().flatten().copied().collect();
        let own: HashMap<DocOrd, DocOrd> =
            of(&excluded).into_iter().map(|(own, shared)| (*shared, own)).collect();
        let of_query = |docs: &Vec<DocOrd>| {
            let mut docs: Vec<DocOrd> = docs.iter().filter_map(|doc| own.get(doc).copied()).collect();
            docs.sort_unstable();
            docs
        };
        Some(OwnFilter {
            allowed: filter.allowed.map(|allowed| of(allowed).into_iter().map(|(own, _)| own).collect()),
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
        match doc.index().checked_sub(self.first_count) {
            Some(other) => self.others.get(other).map_or(Cow::Borrowed(""), |id| id.into()),
            None => self.searchers.first().map_or(Cow::Borrowed(""), |first| first.doc_id(doc)),
        }
    }

    fn doc_count(&self) -> usize {
        self.first_count + self.others.len()
    }
}

/// The shared ordinals of another searcher's documents. `by_id` has those that are known so far, and `others`
/// the documents that are missing from the first searcher.
fn matched<'s>(
    first: &'s dyn Searcher,
    other: &'s dyn Searcher,
    list: usize,
    collections: Collections,
    by_id: &mut HashMap<Cow<'s, str>, DocOrd>,
    others: &mut Vec<String>,
) -> Result<Vec<DocOrd>, FusionError> {
    // An identifier that comes twice would make one document of two.
    let own = ordinals(other, list)?;
    if collections == Collections::Same {
        let extra = documents(other).find(|id| !by_id.contains_key(id)).map(|id| (id, "other"));
        let missing = || documents(first).find(|id| !own.contains_key(id)).map(|id| (id, "first"));
        if let Some((document, present)) = extra.or_else(missing) {
            return Err(FusionError::CollectionsDiffer {
                list: list + 1,
                first_count: first.doc_count(),
                other_count: other.doc_count(),
                document: document.into_owned(),
                present,
            });
        }
    }
    let mut shared = Vec::with_capacity(other.doc_count());
    for id in documents(other) {
        let ordinal = match by_id.get(&id) {
            Some(ordinal) => *ordinal,
            None => {
                let ordinal = DocOrd((first.doc_count() + others.len()) as u32);
                others.push(id.clone().into_owned());
                by_id.insert(id, ordinal);
                ordinal
            }
        };
        shared.push(ordinal);
    }
    Ok(shared)
}

fn documents(searcher: &dyn Searcher) -> impl Iterator<Item = Cow<'_, str>> {
    (0..searcher.doc_count() as u32).map(|doc| searcher.doc_id(DocOrd(doc)))
}

/// Whether both have the same documents in the same order: the usual case, for which no table is needed.
fn is_same_order(first: &dyn Searcher, other: &dyn Searcher) -> bool {
    first.doc_count() == other.doc_count() && documents(first).eq(documents(other))
}

fn ordinals(searcher: &dyn Searcher, list: usize) -> Result<HashMap<Cow<'_, str>, DocOrd>, FusionError> {
    let mut ordinals = HashMap::with_capacity(searcher.doc_count());
    for (doc, id) in (0..).map(DocOrd).zip(documents(searcher)) {
        if ordinals.insert(id.clone(), doc).is_some() {
            return Err(FusionError::AmbiguousId { list: list + 1, document: id.into_owned() });
        }
    }
    Ok(ordinals)
}
