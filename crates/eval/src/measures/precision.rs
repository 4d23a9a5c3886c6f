//! Measures of the top of a ranking: precision, recall, success, reciprocal rank, judged.

use super::share;
use crate::parameters::Parameters;
use crate::ranking::{JudgedRanking, Judgment};

/// Relevant documents among the first k, over k: a ranking shorter than k counts as filled up with
/// non-relevant documents. trec_eval's `P`.
pub(crate) fn precision(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let cutoff = parameters.cutoff.map_or(0, |cutoff| cutoff as usize);
    share(ranking.relevant_in_top(parameters.cutoff, level), cutoff)
}

/// Relevant documents among the first k, over all relevant documents. trec_eval's `recall`.
pub(crate) fn recall(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    share(ranking.relevant_in_top(parameters.cutoff, level), ranking.relevant(level))
}

/// 1 if a relevant document is among the first k, else 0. trec_eval's `success`.
pub(crate) fn success(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    success_of(first_rank(ranking, parameters, level), parameters)
}

/// [`success`] by the rank of the first relevant document.
pub(crate) fn success_of(rank: Option<f64>, parameters: &Parameters) -> f64 {
    if within(rank, parameters).is_some() { 1.0 } else { 0.0 }
}

/// One over the rank of the first relevant document, 0 if there is none (among the first k).
/// trec_eval's `recip_rank`, which has no cutoff.
pub(crate) fn reciprocal_rank(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    reciprocal_of(first_rank(ranking, parameters, level), parameters)
}

/// [`reciprocal_rank`] by the rank of the first relevant document.
pub(crate) fn reciprocal_of(rank: Option<f64>, parameters: &Parameters) -> f64 {
    within(rank, parameters).map_or(0.0, |rank| 1.0 / rank)
}

/// The rank of the first relevant document.
fn first_rank(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> Option<f64> {
    let rank = ranking.relevant_ranks(None, level).next()?;
    Some(if parameters.average_ties { ranking.average_rank(rank) } else { rank as f64 })
}

/// A rank that the cutoff admits.
fn within(rank: Option<f64>, parameters: &Parameters) -> Option<f64> {
    rank.filter(|rank| parameters.cutoff.is_none_or(|cutoff| *rank <= f64::from(cutoff)))
}

/// Relevant documents among the first k, over the smaller of k and R. trec_eval's `relative_P`.
pub(crate) fn relative_precision(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let cutoff = parameters.cutoff.map_or(0, |cutoff| cutoff as usize);
    share(ranking.relevant_in_top(parameters.cutoff, level), ranking.relevant(level).min(cutoff))
}

/// Precision among the first x R + 0.9 documents, rounded down, R being the number of relevant ones.
/// trec_eval's `Rprec_mult`.
pub(crate) fn r_precision_multiple(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let multiple = parameters.multiple.unwrap_or(1.0);
    let cutoff = (multiple * ranking.relevant(level) as f64 + 0.9) as u32;
    share(ranking.relevant_in_top(Some(cutoff), level), cutoff as usize)
}

/// Documents without a grade among the first k, over k. trec_eval's `unj`.
pub(crate) fn unjudged(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let graded = |judgment: &&Judgment| matches!(judgment, Judgment::Grade(_));
    let top = ranking.top(parameters.cutoff);
    let cutoff = parameters.cutoff.map_or(0, |cutoff| cutoff as usize);
    share(top.len() - top.iter().filter(graded).count(), cutoff)
}

/// Precision among the first R documents, R being the number of relevant ones. trec_eval's `Rprec`.
pub(crate) fn r_precision(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    let relevant = ranking.relevant(level);
    let found =
        ranking.judgments.iter().take(relevant).filter(|judgment| judgment.is_relevant(level)).count();
    share(found, relevant)
}

/// Documents in the qrels, whatever their grade, among the first k, over the smaller of k and the
/// number retrieved (as ir_measures' `Judged`; trec_eval's `unj` divides by k and takes a negative
/// grade for unjudged).
pub(crate) fn judged(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let top = ranking.top(parameters.cutoff);
    share(top.iter().filter(|judgment| **judgment != Judgment::Absent).count(), top.len())
}
