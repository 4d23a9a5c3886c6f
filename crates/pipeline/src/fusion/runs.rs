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
        let orders: Vec<Vec<&str>> =
            runs.iter().map(|run| run.queries.keys().map(String::as_str).collect()).collect();
        let pool = |query: &'a str| {
            let entries = |run: &'a Run| run.queries.get(query).map_or(&[][..], Vec::as_slice);
            let list = |run| {
                entries(run).iter().map(|entry| (entry.doc_id.as_str(), entry.score)).collect::<Vec<_>>()
            };
            let pool = Pool::new(runs.iter().map(list).collect(), depth, fusion);
            Ok((query, pool.map_err(|bad| bad.of_query(query, str::to_owned))?))
        };
        let queries = merged_order(&orders).into_par_iter().map(pool).collect::<Result<_, FusionError>>()?;
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
        let fuse = |(query_id, pool): &(&'a str, Pool<&'a str>)| {
            let hits = pool.fuse(self.fusion.combination, weights, k);
            Ok(FusedQuery { query_id, hits: hits.map_err(|bad| bad.of_query(query_id, str::to_owned))? })
        };
        self.queries.par_iter().map(fuse).collect()
    }
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
    Pools::new(runs, depth, fusion)?.fuse(&fusion.weights_of(runs.len()), k)
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
