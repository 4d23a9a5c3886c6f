//! Interpolated precision at a level of recall.

use crate::parameters::Parameters;
use crate::ranking::JudgedRanking;

/// The highest precision at any rank from which on the ranking has found `recall` of the R relevant
/// documents: the maximum of j / rank(j) over the relevant documents j >= c, where c is recall * R
/// rounded to the nearest whole number, halves up (trec_eval 10; up to 9 it was recall * R + 0.9
/// rounded down). 0 where fewer than c were found. trec_eval's `iprec_at_recall`.
pub(crate) fn interpolated_precision(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let recall = parameters.recall.unwrap_or(0.0);
    let wanted = (recall * ranking.relevant(level) as f64).round();
    ranking
        .relevant_ranks(None, level)
        .enumerate()
        .map(|(earlier, rank)| ((earlier + 1) as f64, rank as f64))
        .filter(|(found, _)| *found >= wanted)
        .map(|(found, rank)| found / rank)
        .fold(0.0, f64::max)
}
