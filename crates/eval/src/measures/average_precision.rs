//! Average precision, and its estimate from an incompletely judged pool.

use crate::parameters::Parameters;
use crate::ranking::{JudgedRanking, Judgment};

/// Precision at the rank of each relevant document (among the first k), summed, over the number of
/// all relevant documents (Buckley and Voorhees 2005). trec_eval's `map` and `map_cut`.
pub(crate) fn average_precision(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let relevant = ranking.relevant(level);
    if relevant == 0 {
        return 0.0;
    }
    precision_sum(ranking, parameters.cutoff, level) / relevant as f64
}

/// Precision at the rank of each relevant document among the first `cutoff`, summed.
fn precision_sum(ranking: &JudgedRanking, cutoff: Option<u32>, level: u32) -> f64 {
    ranking
        .relevant_ranks(cutoff, level)
        .enumerate()
        .map(|(earlier, rank)| (earlier + 1) as f64 / rank as f64)
        .fold(0.0, |sum, precision| sum + precision)
}

/// ln((1 + s) / (1 + R - s)) of the sum s of precisions at the R relevant documents (Robertson 2012).
/// trec_eval's `yaap`.
pub(crate) fn smoothed_average_precision(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    let sum = precision_sum(ranking, None, level);
    ((1.0 + sum) / (1.0 + ranking.relevant(level) as f64 - sum)).ln()
}

/// Keeps the estimate of precision defined above a relevant document with nothing judged before it.
const EPSILON: f64 = 0.000_01;

/// Inferred average precision (Yilmaz and Aslam 2006), for qrels that hold a sample of the pool and
/// mark the rest of it with a negative grade. At a relevant document of rank k, precision is
/// 1/k + (k-1)/k * |pool above|/(k-1) * (rel + e) / (rel + nonrel + 2e), the counts being of the ranks
/// above. trec_eval's `infAP`.
pub(crate) fn inferred_average_precision(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    let all_relevant = ranking.relevant(level);
    if all_relevant == 0 {
        return 0.0;
    }
    let (mut relevant, mut nonrelevant, mut unassessed) = (0_usize, 0_usize, 0_usize);
    let mut sum = 0.0;
    for (above, judgment) in ranking.judgments.iter().enumerate() {
        match judgment {
            Judgment::Absent => {}
            Judgment::Negative => unassessed += 1,
            Judgment::Grade(grade) if *grade < level => nonrelevant += 1,
            Judgment::Grade(_) => {
                sum += if above == 0 {
                    1.0
                } else {
                    let ranks_above = above as f64;
                    let pool_share = (relevant + nonrelevant + unassessed) as f64 / ranks_above;
                    let relevant_share =
                        (relevant as f64 + EPSILON) / ((relevant + nonrelevant) as f64 + 2.0 * EPSILON);
                    1.0 / (ranks_above + 1.0)
                        + (ranks_above / (ranks_above + 1.0)) * pool_share * relevant_share
                };
                relevant += 1;
            }
        }
    }
    sum / all_relevant as f64
}
