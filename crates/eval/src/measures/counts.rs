//! Counts, which are summed over the queries.

use crate::parameters::Parameters;
use crate::ranking::JudgedRanking;

/// 1, for each query that is evaluated. trec_eval's `num_q`.
pub(crate) fn queries(_: &JudgedRanking, _: &Parameters, _: u32) -> f64 {
    1.0
}

/// Retrieved documents, or with `rel` given those of at least that grade. trec_eval's `num_ret`.
pub(crate) fn retrieved(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    parameters.rel.map_or(ranking.retrieved(), |level| ranking.relevant_in_top(None, level)) as f64
}

/// Relevant documents, retrieved or not. trec_eval's `num_rel`.
pub(crate) fn relevant(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    ranking.relevant(level) as f64
}

/// Relevant documents retrieved. trec_eval's `num_rel_ret`.
pub(crate) fn relevant_retrieved(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    ranking.relevant_in_top(None, level) as f64
}

/// Judged non-relevant documents retrieved. trec_eval's `num_nonrel_judged_ret`.
pub(crate) fn nonrelevant_retrieved(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    let graded = ranking.judgments.iter().filter(|judgment| judgment.is_relevant(0)).count();
    (graded - ranking.relevant_in_top(None, level)) as f64
}
