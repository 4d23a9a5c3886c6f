//! Normalised discounted cumulative gain.

use crate::parameters::{Dcg, Parameters};
use crate::ranking::{JudgedRanking, Judgment};

/// The largest gain of a grade: far above any real one, and far below where sums overflow.
pub(crate) const MAX_GAIN: f64 = 1e100;

/// DCG over the DCG of the ideal ranking of all judged documents, both of the first k; 0 where
/// no document has a positive gain (Järvelin and Kekäläinen 2002). The document at rank r counts
/// gain / log2(r + 1); documents without a grade have no gain. trec_eval's `ndcg` and `ndcg_cut`.
pub(crate) fn ndcg(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let gains = ranking.top(parameters.cutoff).iter().map(|judgment| match judgment {
        Judgment::Grade(grade) => gain(parameters, *grade),
        Judgment::Negative | Judgment::Absent => 0.0,
    });
    let mut ideal: Vec<f64> =
        ranking.grades.iter().map(|grade| gain(parameters, *grade)).filter(|gain| *gain > 0.0).collect();
    // Already in order, unless the measure maps grades to gains of another order.
    ideal.sort_by(|a, b| b.total_cmp(a));
    ideal.truncate(parameters.cutoff.map_or(usize::MAX, |cutoff| cutoff as usize));

    let ideal_dcg = dcg(ideal.into_iter());
    if ideal_dcg > 0.0 { dcg(gains) / ideal_dcg } else { 0.0 }
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
