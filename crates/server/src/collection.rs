//! What is searched: the systems over a collection, and their queues.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use toller_engine::{
    DocOrd, Engine, Filter, Hit, Pooled, Query, Ranking, Reranker, SearchRequest, SearchResponse, Searcher,
};
use toller_ir::{Explain, StageRankings};
use toller_pipeline::rerank::Stop;
use toller_pipeline::{DocumentLists, Ordinals, QueryFilter, SparseSearcher};
use toller_texts::Texts;
use utoipa::ToSchema;

use crate::ServerError;
use crate::failure::{Failure, Reason};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::runs::Runs;
use crate::schedule::{Answer, Capacity, Scheduler, Work};
use crate::texts::blocking;

/// Queries that are searched together.
const BATCH: usize = 64;

/// Queries whose hits are reranked together: enough pairs for every thread.
const RERANKED_BATCH: usize = 4;

/// What there is to search.
#[derive(Clone, Default)]
pub struct Systems {
    /// An inverted index.
    pub sparse: Option<Arc<Pooled<SparseSearcher>>>,
    /// Stores of vectors.
    pub dense: Option<Arc<dyn Searcher>>,
    /// The fusion of both.
    pub hybrid: Option<Arc<dyn Searcher>>,
    /// What reranks the hits of any of them.
    pub reranker: Option<Arc<Reranker>>,
    /// The texts of the documents.
    pub texts: Option<Arc<Texts>>,
    /// Runs to compare.
    pub runs: Option<Arc<Runs>>,
}

/// The name of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum System {
    /// The inverted index.
    Sparse,
    /// The stores of vectors.
    Dense,
    /// The fusion of both.
    Hybrid,
}

impl System {
    pub(crate) const ALL: [Self; 3] = [Self::Hybrid, Self::Dense, Self::Sparse];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sparse => "sparse",
            Self::Dense => "dense",
            Self::Hybrid => "hybrid",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.name() == name)
    }
}

/// What is asked of a system.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) system: System,
    pub(crate) k: usize,
    /// The documents that may be hits; `None` for all.
    pub(crate) filter: Option<Arc<QueryFilter>>,
}

/// Searches with filters of their own are not computed together.
impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        let same_filter = match (&self.filter, &other.filter) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        self.system == other.system && self.k == other.k && same_filter
    }
}

/// The rank and the score of a document after a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct StageScore {
    stage: &'static str,
    rank: usize,
    score: f32,
}

/// What was found for a query.
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// What the stages before the last one gave each hit.
    pub(crate) before: Vec<Vec<StageScore>>,
    /// The stages of the batch that the query was in.
    pub(crate) stages: Arc<[(&'static str, Duration)]>,
    /// Queries of the batch.
    pub(crate) batch: usize,
}

/// The work of a queue.
struct Searching {
    systems: Systems,
    /// Reranks hits, if these are reranked.
    reranking: Option<(Arc<Engine>, Arc<Reranker>)>,
}

impl Searching {
    fn search(
        &self,
        system: System,
        request: &SearchRequest<'_>,
        stop: Stop<'_>,
    ) -> Result<SearchResponse, Failure> {
        let first = self.systems.get(system)?;
        let found = match &self.reranking {
            None => first.search(request),
            Some((engine, reranker)) => engine.reranked(first, reranker.clone()).search_until(request, stop),
        };
        found.map_err(|error| Failure::of(Reason::Backend, &*error as &dyn Explain))
    }
}

impl Work for Searching {
    type Kind = Asked;
    type Item = Query;
    type Output = Found;

    fn cost(&self, _: &Query) -> usize {
        1
    }

    /// Uses all threads, whatever their number: queries of a batch share what is read.
    fn compute(
        &self,
        asked: &Asked,
        queries: &[Query],
        _: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<Found>, Failure> {
        let search = |filter: Filter<'_>| {
            self.search(asked.system, &SearchRequest { queries, k: asked.k, filter }, stop)
        };
        let found = match &asked.filter {
            Some(filter) => filter.with(queries, search),
            None => search(Filter::default()),
        }?;
        let stages: Arc<[_]> = found.timings.iter().map(|timing| (timing.stage, timing.duration)).collect();
        let of_query = |(place, ranking): (usize, Ranking)| Found {
            before: stage_scores(&ranking.hits, &found.before, place),
            hits: ranking.hits,
            stages: stages.clone(),
            batch: queries.len(),
        };
        Ok(found.rankings.into_iter().enumerate().map(of_query).collect())
    }
}

/// Where the stages ranked the hits of the query at a place of the request.
fn stage_scores(hits: &[Hit], stages: &[StageRankings], place: usize) -> Vec<Vec<StageScore>> {
    let mut found = vec![Vec::new(); hits.len()];
    let places: HashMap<DocOrd, usize> = hits.iter().map(|hit| hit.doc).zip(0..).collect();
    for StageRankings { stage, rankings } in stages {
        for (rank, hit) in (1..).zip(rankings.get(place).into_iter().flat_map(|ranking| &ranking.hits)) {
            if let Some(at) = places.get(&hit.doc) {
                found[*at].push(StageScore { stage, rank, score: hit.score });
            }
        }
    }
    found
}

impl Systems {
    /// A system, if it is served.
    pub(crate) fn get(&self, system: System) -> Result<Arc<dyn Searcher>, Failure> {
        let found: Option<Arc<dyn Searcher>> = match system {
            System::Sparse => self.sparse.clone().map(|sparse| sparse as Arc<dyn Searcher>),
            System::Dense => self.dense.clone(),
            System::Hybrid => self.hybrid.clone(),
        };
        let name = system.name();
        found.ok_or_else(|| Failure::new(Reason::NotServed, format!("the server has no {name} system")))
    }
}

/// Systems that are served.
pub(crate) struct Collection {
    pub(crate) systems: Systems,
    plain: Scheduler<Searching>,
    reranked: Option<Scheduler<Searching>>,
    /// The ordinals of each system's documents, once somebody asked for one.
    ordinals: [Arc<OnceCell<Arc<Ordinals>>>; System::ALL.len()],
}

impl Collection {
    pub(crate) fn start(
        systems: Systems,
        engine: &Arc<Engine>,
        limits: &Limits,
        metrics: &Metrics,
    ) -> Result<Self, ServerError> {
        // Queries of a batch share what is read, but each pair of reranking takes its own time.
        let start = |name: &'static str, batch, reranking: Option<_>| {
            let gathers = reranking.is_none();
            let capacity = Capacity { lanes: 1, batch, queue: limits.queued_queries, gathers };
            Scheduler::start(
                &format!("toller-{name}"),
                Searching { systems: systems.clone(), reranking },
                capacity,
                metrics.queue(name),
            )
            .map_err(ServerError::Start)
        };
        let reranking = systems.reranker.clone().map(|reranker| Some((engine.clone(), reranker)));
        let reranked = reranking.map(|reranking| start("reranked-search", RERANKED_BATCH, reranking));
        Ok(Self {
            plain: start("search", BATCH, None)?,
            reranked: reranked.transpose()?,
            ordinals: Default::default(),
            systems,
        })
    }

    /// The systems that are served, the best first.
    pub(crate) fn names(&self) -> impl Iterator<Item = System> {
        System::ALL.into_iter().filter(|system| self.systems.get(*system).is_ok())
    }

    /// The system of a request.
    pub(crate) fn system(&self, asked: Option<System>) -> Result<System, Failure> {
        let nothing = || Failure::new(Reason::NotServed, "the server has nothing to search");
        asked.or_else(|| self.names().next()).ok_or_else(nothing)
    }

    pub(crate) fn has_reranker(&self) -> bool {
        self.reranked.is_some()
    }

    /// Searches for queries before a deadline.
    pub(crate) async fn search(
        &self,
        asked: Asked,
        rerank: bool,
        queries: Vec<Query>,
        deadline: Instant,
    ) -> Result<Answer<Found>, Failure> {
        let no_reranker = || Failure::new(Reason::NotServed, "the server has no reranker");
        self.systems.get(asked.system)?;
        let scheduler = if rerank { self.reranked.as_ref().ok_or_else(no_reranker)? } else { &self.plain };
        scheduler.ask(asked, queries, deadline).await
    }

    /// The identifiers of hits.
    pub(crate) fn ids(&self, system: System, hits: &[Hit]) -> Result<Vec<String>, Failure> {
        let searcher = self.systems.get(system)?;
        Ok(hits.iter().map(|hit| searcher.doc_id(hit.doc).into_owned()).collect())
    }

    /// The ordinals of a system's documents. The first call reads all identifiers, while others wait.
    pub(crate) async fn ordinals(&self, system: System) -> Result<Arc<Ordinals>, Failure> {
        let searcher = self.systems.get(system)?;
        let cell = self.ordinals[system as usize].clone();
        if let Some(known) = cell.get() {
            return Ok(known.clone());
        }
        let read = move || Ordinals::of(&*searcher).map_err(|error| Failure::of(Reason::Backend, &error));
        // A task of its own: what was read stays, though the client that asked first may be gone.
        let reading =
            async move { cell.get_or_try_init(|| blocking(move || read().map(Arc::new))).await.cloned() };
        let panicked = |_| Err(Failure::new(Reason::Backend, "the request failed unexpectedly"));
        tokio::spawn(reading).await.unwrap_or_else(panicked)
    }

    /// The filter that `lists` is in a system. Identifiers that the system does not have filter nothing.
    pub(crate) async fn filter(&self, system: System, lists: DocumentLists) -> Result<QueryFilter, Failure> {
        let (searcher, ordinals) = (self.systems.get(system)?, self.ordinals(system).await?);
        blocking(move || Ok(lists.by(|id| ordinals.get(&*searcher, id)))).await
    }

    /// The texts of the documents, if they are served.
    pub(crate) fn texts(&self) -> Result<&Arc<Texts>, Failure> {
        let without =
            || Failure::new(Reason::NotServed, "the server was started without the collection's texts");
        self.systems.texts.as_ref().ok_or_else(without)
    }

    /// The inverted index.
    pub(crate) fn sparse(&self) -> Result<Arc<Pooled<SparseSearcher>>, Failure> {
        let missing = || {
            Failure::new(
                Reason::NotServed,
                "scores are explained term by term, and the server has no sparse system",
            )
        };
        self.systems.sparse.clone().ok_or_else(missing)
    }
}
