//! Fusion of run files.

use rayon::prelude::*;
use toller_ir::Run;

use super::error::FusionError;
use super::options::{Fusion, check_weights};
use super::pool::{BadEntry, Pool};
use super::query_order::merged_order;

/// The fused hits of one query, best first; identifiers come from the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedQuery<'a> {
    /// The query.
    pub query_id: &'a str,
    /// Documents and scores, which fall strictly.
    pub hits: Vec<(&'a str, f32)>,
}

/// What several runs say of every query, normalized: to be combined once, or with many weights.
#[derive(Clone, Debug)]
pub struct Pools<'a> {
    fusion: Fusion,
    queries: Vec<(&'a str, Pool<&'a str>)>,
}

impl<'a> Pools<'a> {
    /// Pools the best `depth` entries of each run for each query. A query that is missing from a run is an
    /// empty list.
    ///
    /// # Errors
    /// No runs, weights or a constant that cannot be used, a document that a run has twice for a query, and a
    /// score that is not finite.
    pub fn new(runs: &'a [Run], depth: usize, fusion: &Fusion) -> Result<Self, FusionError> {
        fusion.check(runs.len())?;
        let pool = |query: &'a str| Ok((query, pool(runs, query, depth, fusion)?));
        let queries = queries_of(runs).into_par_iter().map(pool).collect::<Result<_, FusionError>>()?;
        Ok(Self { fusion: fusion.clone(), queries })
    }

    /// The queries, each with its documents.
    #[must_use]
    pub fn queries(&self) -> &[(&'a str, Pool<&'a str>)] {
        &self.queries
    }

    /// The `k` best documents of each query. `fusion` is the one given to [`Pools::new`], except for its
    /// weights.
    ///
    /// # Errors
    /// Weights that cannot be used, and a fused score outside the range of f32.
    pub fn fuse(&self, weights: &[f64], k: usize) -> Result<Vec<FusedQuery<'a>>, FusionError> {
        let lists = self.queries.first().map_or(weights.len(), |(_, pool)| pool.list_count());
        check_weights(weights, lists)?;
        let fuse = |(query, pool): &(&'a str, Pool<&'a str>)| fused(query, pool, &self.fusion, weights, k);
        self.queries.par_iter().map(fuse).collect()
    }
}

/// The queries that any run has, in their order.
fn queries_of(runs: &[Run]) -> Vec<&str> {
    let orders: Vec<Vec<&str>> =
        runs.iter().map(|run| run.queries.keys().map(String::as_str).collect()).collect();
    merged_order(&orders)
}

/// What the runs say of a query.
fn pool<'a>(
    runs: &'a [Run],
    query: &str,
    depth: usize,
    fusion: &Fusion,
) -> Result<Pool<&'a str>, FusionError> {
    let list = |run: &'a Run| {
        let entries = run.queries.get(query).map_or(&[][..], Vec::as_slice);
        entries.iter().map(|entry| (entry.doc_id.as_str(), entry.score)).collect()
    };
    let pool = Pool::new(runs.iter().map(list).collect(), depth, fusion);
    pool.map_err(|bad| bad.of_query(query, str::to_owned))
}

/// The best documents of a query.
fn fused<'a>(
    query_id: &'a str,
    pool: &Pool<&'a str>,
    fusion: &Fusion,
    weights: &[f64],
    k: usize,
) -> Result<FusedQuery<'a>, FusionError> {
    let hits = pool.fuse(fusion.combination, weights, k);
    Ok(FusedQuery { query_id, hits: hits.map_err(|bad| bad.of_query(query_id, str::to_owned))? })
}

/// Fuses runs: the `k` best documents of each query that any of them has, from the best `depth` of each run.
///
/// Scores are taken as f64, as the files state them. Queries come in the order of [`merged_order`].
///
/// # Errors
/// Those of [`Pools::new`] and [`Pools::fuse`].
pub fn fuse_runs<'a>(
    runs: &'a [Run],
    fusion: &Fusion,
    depth: usize,
    k: usize,
) -> Result<Vec<FusedQuery<'a>>, FusionError> {
    fusion.check(runs.len())?;
    let weights = fusion.weights_of(runs.len());
    check_weights(&weights, runs.len())?;
    // A pool lives until its query is fused: those of all queries would take more memory than the runs.
    let fuse = |query| fused(query, &pool(runs, query, depth, fusion)?, fusion, &weights, k);
    queries_of(runs).into_par_iter().map(fuse).collect()
}

impl<K> BadEntry<K> {
    /// The error, with the names of the query and of the document.
    pub(crate) fn of_query(self, query: &str, name: impl FnOnce(K) -> String) -> FusionError {
        let query = query.to_owned();
        match self {
            Self::Duplicate { list, document } => {
                FusionError::Duplicate { list: list + 1, query, document: name(document) }
            }
            Self::NotFinite { list, document, score } => {
                FusionError::NotFinite { list: list + 1, query, document: name(document), score }
            }
            Self::Overflow { document, score } => {
                FusionError::Overflow { query, document: name(document), score }
            }
        }
    }
}
