//! Interpolated precision at a level of recall.

use crate::parameters::Parameters;
use crate::ranking::JudgedRanking;

/// The highest precision at any rank from which on the ranking has found `recall` of the R relevant
/// documents: the maximum of j / rank(j) over the relevant documents j >= c, where c is recall * R
/// rounded to the nearest whole number, halves up (trec_eval 10; up to 9 it was recall * R + 0.9
/// rounded down). 0 where fewer than c were found. trec_eval's `iprec_at_recall`.
pub(crate) fn interpolated_precision(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    at_recall(ranking, parameters.recall.unwrap_or(0.0), level)
}

/// The mean of interpolated precision at recall 0, 0.1, ..., 1. trec_eval's `11pt_avg`.
pub(crate) fn eleven_point_average(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    average_at(ranking, &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], level)
}

/// The mean of interpolated precision at these levels of recall, summed from the last.
pub(crate) fn average_at(ranking: &JudgedRanking, recalls: &[f64], level: u32) -> f64 {
    let values = recalls.iter().rev().map(|recall| at_recall(ranking, *recall, level));
    values.fold(0.0, |sum, value| sum + value) / recalls.len() as f64
}

fn at_recall(ranking: &JudgedRanking, recall: f64, level: u32) -> f64 {
    let wanted = (recall * ranking.relevant(level) as f64).round();
    ranking
        .relevant_ranks(None, level)
        .enumerate()
        .map(|(earlier, rank)| ((earlier + 1) as f64, rank as f64))
        .filter(|(found, _)| *found >= wanted)
        .map(|(found, rank)| found / rank)
        .fold(0.0, f64::max)
}
