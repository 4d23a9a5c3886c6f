//! The effect of depth: a measure of a run by the depth to which it is read or reranked, and the best value
//! that any order of the same documents can reach.

use std::collections::HashMap;

use toller_ir::{Qrels, Run, RunEntry};

use crate::error::EvalError;
use crate::evaluate::{
    EvalOptions, MissingQueries, bad_ranking, check_common_queries, check_gains, check_of_rankings,
};
use crate::measure::Measure;
use crate::measures::ndcg::judged_gain;
use crate::ranking::{JudgedRanking, Judgment, ranked};

/// What depth means.
#[derive(Clone, Copy, Debug)]
pub enum Depth<'a> {
    /// Only the first documents of the run, to this depth, count.
    Cutoff,
    /// The run is a reranking of this one: for each query the first documents of `first`, to this depth, come
    /// in the run's order, and the others follow in the order of `first`. So one deep reranking gives the
    /// result of every shallower one, if a document's score does not depend on the others.
    Reranked {
        /// The run that was reranked.
        first: &'a Run,
    },
}

/// In which order the documents to a depth are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthOrder {
    /// The run's.
    Run,
    /// The best order: by the gains of the measure, which are the grades unless it maps them. It is the bound
    /// of every reranker.
    Oracle,
}

/// The value of `measure` over all queries at each of the depths, `[depths]`.
///
/// # Errors
/// As [`evaluate`](crate::evaluate), for the run and for the one that was reranked. The best order by a
/// measure of how much is judged.
pub fn depth_curve(
    qrels: &Qrels,
    run: &Run,
    measure: &Measure,
    depths: &[usize],
    (depth, order): (Depth<'_>, DepthOrder),
    options: &EvalOptions,
) -> Result<Vec<f64>, EvalError> {
    let base = match depth {
        Depth::Cutoff => run,
        Depth::Reranked { first } => first,
    };
    check_of_rankings(measure)?;
    if order == DepthOrder::Oracle && measure.is_of_judging() {
        return Err(EvalError::NoBestOrder { measure: measure.to_string() });
    }
    let gain = |judgment: Judgment| judged_gain(&measure.parameters, judgment);
    check_common_queries(qrels, run)?;
    check_common_queries(qrels, base)?;
    let mut judged: Vec<_> = qrels.iter().collect();
    judged.sort_unstable_by_key(|(query_id, _)| *query_id);
    let mut values = vec![Vec::with_capacity(judged.len()); depths.len()];
    for (query_id, judgments) in judged {
        if options.missing == MissingQueries::Skip && !base.queries.contains_key(query_id) {
            continue;
        }
        let failed = |bad| bad_ranking(query_id, bad);
        let places = places(&ranked(entries(run, query_id)).map_err(failed)?);
        let documents: Vec<(Judgment, usize)> = ranked(entries(base, query_id))
            .map_err(failed)?
            .into_iter()
            .take(options.depth.map_or(usize::MAX, std::num::NonZeroUsize::get))
            .map(|entry| {
                let judgment = judgments.get(&entry.doc_id).map_or(Judgment::Absent, |grade| (*grade).into());
                // Documents that are missing from the run come last, in the order of the first.
                (judgment, places.get(entry.doc_id.as_str()).copied().unwrap_or(usize::MAX))
            })
            .collect();
        check_gains(
            query_id,
            &JudgedRanking::of_judgments(Vec::new(), judgments),
            std::slice::from_ref(measure),
        )?;
        for (at, values) in depths.iter().zip(&mut values) {
            let (top, rest) = documents.split_at((*at).min(documents.len()));
            let mut top = top.to_vec();
            match order {
                // Stable sorts: ties keep the order of the first.
                DepthOrder::Run => top.sort_by_key(|(_, place)| *place),
                DepthOrder::Oracle => top.sort_by(|(a, _), (b, _)| gain(*b).total_cmp(&gain(*a))),
            }
            if let Depth::Reranked { .. } = depth {
                top.extend_from_slice(rest);
            }
            let ranking = top.into_iter().map(|(judgment, _)| judgment).collect();
            let ranking = JudgedRanking::of_judgments(ranking, judgments);
            values.push(measure.compute(&ranking, options.relevance_level));
        }
    }
    Ok(values.into_iter().map(|values| measure.aggregate(values)).collect())
}

/// What a run has for a query.
fn entries<'a>(run: &'a Run, query_id: &str) -> &'a [RunEntry] {
    run.queries.get(query_id).map_or(&[], Vec::as_slice)
}

/// The place of each document, from 0.
fn places<'a>(ranked: &[&'a RunEntry]) -> HashMap<&'a str, usize> {
    ranked.iter().enumerate().map(|(place, entry)| (entry.doc_id.as_str(), place)).collect()
}
