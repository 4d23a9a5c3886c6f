//! Measures of what was retrieved as a set, without regard to the order.

use super::{precision as top, share};
use crate::declarations::Compute;
use crate::parameters::Parameters;
use crate::ranking::JudgedRanking;

/// Relevant retrieved over retrieved. trec_eval's `set_P`. With `relative`, ir_measures means
/// [`relative_precision`].
pub(crate) fn precision(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    if parameters.relative {
        return relative_precision(ranking, parameters, level);
    }
    share(ranking.relevant_in_top(None, level), ranking.retrieved())
}

/// Relevant retrieved over the most that could be. trec_eval's `set_relative_P`.
pub(crate) fn relative_precision(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    share(ranking.relevant_in_top(None, level), ranking.retrieved().min(ranking.relevant(level)))
}

/// Relevant retrieved over relevant. trec_eval's `set_recall`.
pub(crate) fn recall(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    share(ranking.relevant_in_top(None, level), ranking.relevant(level))
}

/// (beta + 1) P R / (beta P + R). As in trec_eval, and unlike in van Rijsbergen's F, beta is not squared.
/// trec_eval's `set_F`. With a cutoff, P and R are those of the first k, as in ranx's `f1`.
pub(crate) fn f_measure(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let (precision, recall): (Compute, Compute) = match parameters.cutoff {
        Some(_) => (top::precision, top::recall),
        None => (precision, recall),
    };
    let precision = precision(ranking, parameters, level);
    let recall = recall(ranking, parameters, level);
    if precision == 0.0 {
        return 0.0;
    }
    let beta = parameters.beta.unwrap_or(1.0);
    (beta + 1.0) * precision * recall / (beta * precision + recall)
}

/// Set precision times set recall. trec_eval's `set_map`.
pub(crate) fn average_precision(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    let found = ranking.relevant_in_top(None, level);
    share(found * found, ranking.retrieved() * ranking.relevant(level))
}
