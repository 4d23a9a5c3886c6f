//! Normalised discounted cumulative gain.

use crate::parameters::{Dcg, Parameters};
use crate::ranking::{JudgedRanking, Judgment};

/// The largest gain of a grade: far above any real one, and far below where sums overflow.
pub(crate) const MAX_GAIN: f64 = 1e100;

/// DCG over the DCG of the ideal ranking of all judged documents, both of the first k; 0 where
/// no document has a positive gain (Järvelin and Kekäläinen 2002). The document at rank r counts
/// gain / log2(r + 1); documents without a grade have no gain. trec_eval's `ndcg` and `ndcg_cut`.
pub(crate) fn ndcg(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let ideal = ideal_dcg(ranking, parameters, level);
    if ideal > 0.0 { dcg_of_ranking(ranking, parameters, level) / ideal } else { 0.0 }
}

/// DCG of the first k documents. trec_eval's `dcg`.
pub(crate) fn dcg_of_ranking(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    dcg(ranking.top(parameters.cutoff).iter().map(|judgment| judged_gain(parameters, *judgment)))
}

/// DCG of the first k documents of the ideal ranking. trec_eval's `ideal_dcg`.
pub(crate) fn ideal_dcg(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let cutoff = parameters.cutoff.map_or(usize::MAX, |cutoff| cutoff as usize);
    dcg(ideal_gains(ranking, parameters).into_iter().take(cutoff))
}

/// The positive gains of all judged documents, highest first.
pub(crate) fn ideal_gains(ranking: &JudgedRanking, parameters: &Parameters) -> Vec<f64> {
    let gains = ranking.grades.iter().map(|grade| gain(parameters, *grade));
    let mut ideal: Vec<f64> = gains.filter(|gain| *gain > 0.0).collect();
    // Already in order, unless the measure maps grades to gains of another order.
    ideal.sort_by(|a, b| b.total_cmp(a));
    ideal
}

/// The gain of a retrieved document.
pub(crate) fn judged_gain(parameters: &Parameters, judgment: Judgment) -> f64 {
    match judgment {
        Judgment::Grade(grade) => gain(parameters, grade),
        Judgment::Negative | Judgment::Absent => 0.0,
    }
}

/// The gain of a grade.
pub(crate) fn gain(parameters: &Parameters, grade: u32) -> f64 {
    let place = parameters.gains.binary_search_by_key(&grade, |(grade, _)| *grade);
    let linear =
        place.ok().and_then(|at| parameters.gains.get(at)).map_or(f64::from(grade), |(_, gain)| *gain);
    match parameters.dcg {
        Dcg::Log2 => linear,
        Dcg::ExpLog2 => linear.exp2() - 1.0,
    }
}

/// The sum of gain / log2(rank + 1), in the order of the ranks.
fn dcg(gains: impl Iterator<Item = f64>) -> f64 {
    let mut sum = 0.0;
    for (index, gain) in gains.enumerate() {
        if gain != 0.0 {
            sum += gain / ((index + 2) as f64).log2();
        }
    }
    sum
}
