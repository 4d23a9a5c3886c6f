//! The weight of the second of two runs.

use std::collections::HashMap;

use toller_ir::Run;

use super::Tuned;
use super::error::TuneError;
use super::grid::Grid;
use super::judging::Judging;
use crate::fusion::{Fusion, Pool, Pools};

/// The measure of two fused runs for each weight of the second; the first has weight 1. For each `alpha` the
/// value is the measure of [`fuse_runs`](crate::fusion::fuse_runs) on the best `depth` hits of each. The runs
/// are normalized once. `on_progress` is given the number of judged queries that are done.
///
/// # Errors
/// Runs that cannot be fused, and judgments of none of their queries.
pub fn tune_alpha(
    runs: &[Run; 2],
    fusion: &Fusion,
    depth: usize,
    alphas: &Grid,
    judging: &Judging<'_>,
    on_progress: &(dyn Fn(u64) + Sync),
) -> Result<Tuned, TuneError> {
    let pools = Pools::new(runs, depth, fusion)?;
    judging.check_queries(pools.queries().iter().map(|(query, _)| *query))?;
    let by_id: HashMap<&str, &Pool<&str>> = pools.queries().iter().map(|(id, pool)| (*id, pool)).collect();
    let top = judging.depth();
    judging.tune(
        alphas.values().len(),
        on_progress,
        || (),
        |(), query| {
            let Some(pool) = by_id.get(query.id) else {
                return Ok(vec![query.of_nothing(); alphas.values().len()]);
            };
            let value = |alpha: &f64| {
                let hits = pool
                    .fuse(fusion.combination, &[1.0, *alpha], top)
                    .map_err(|bad| bad.of_query(query.id, str::to_owned))?;
                Ok(query.value(hits.iter().map(|(doc, _)| query.judgments.get(*doc).copied())))
            };
            alphas.values().iter().map(value).collect()
        },
    )
}
