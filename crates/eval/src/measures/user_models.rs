//! Measures of the C/W/L framework (Moffat, Bailey, Scholer and Thomas 2017): after each document, a user
//! goes on with a probability C that depends on the rank and on the gains so far. The value is the expected
//! gain of a document that the user looks at. Definitions and the limit of 1,000 documents are the same as in
//! `cwl_eval`.

use crate::parameters::Parameters;
use crate::ranking::{JudgedRanking, Judgment};

/// Users look at no more documents than this; ranks beyond the run's end have no gain.
const LONGEST: usize = 1_000;

/// `gains` by the user who, after the document at a rank (from 1) with a gain, having seen a total of gains,
/// goes on with the probability `going_on(rank, gain, total)`.
fn expected_gain(gains: impl Iterator<Item = f64>, going_on: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let (mut sum, mut looked, mut reached, mut total) = (0.0, 0.0, 1.0, 0.0);
    for (gain, rank) in gains.chain(std::iter::repeat(0.0)).take(LONGEST).zip(1_u32..) {
        sum += reached * gain;
        looked += reached;
        total += gain;
        reached *= going_on(f64::from(rank), gain, total);
        if reached == 0.0 {
            break;
        }
    }
    sum / looked
}

/// The gain of each document: its grade, on the scale from `min_rel` (0) to `max_rel` (1).
fn scaled<'a>(ranking: &'a JudgedRanking, parameters: &Parameters) -> impl Iterator<Item = f64> + use<'a> {
    let low = parameters.min_rel.unwrap_or(0);
    let high = parameters.max_rel.unwrap_or(1);
    ranking.judgments.iter().map(move |judgment| match judgment {
        Judgment::Grade(grade) => f64::from((*grade).clamp(low, high) - low) / f64::from(high - low),
        Judgment::Absent | Judgment::Negative => 0.0,
    })
}

fn target(parameters: &Parameters) -> f64 {
    parameters.target.unwrap_or(1.0)
}

/// `p` of RBP, where it is not given.
pub(crate) const RBP_P: f64 = 0.8;

/// `p` of NERR10, where it is not given.
pub(crate) const NERR10_P: f64 = 0.9;

fn cutoff(parameters: &Parameters) -> f64 {
    parameters.cutoff.map_or(f64::INFINITY, f64::from)
}

/// `(1 - p)` times the sum of p^(rank - 1) and the gain (Moffat and Zobel 2008). The gain is 1 from the grade
/// `rel` on; without `rel`, it is the grade over the highest grade of the query's judgments, if that is above
/// 1, as in trec_eval's `rbp`.
pub(crate) fn rank_biased_precision(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let p = parameters.persistence.unwrap_or(RBP_P);
    let highest = ranking.grades.first().copied().unwrap_or(0).max(1);
    let gain = |grade: u32| match parameters.rel {
        Some(rel) => f64::from(u8::from(grade >= rel)),
        None => f64::from(grade) / f64::from(highest),
    };
    let (mut sum, mut weight) = (0.0, 1.0);
    for judgment in ranking.top(parameters.cutoff) {
        if let Judgment::Grade(grade) = judgment {
            sum += gain(*grade) * weight;
        }
        weight *= p;
    }
    (1.0 - p) * sum
}

/// What RBP could gain if all unjudged documents, retrieved or beyond the run's end, had the gain 1; 0 if
/// every retrieved document is judged. trec_eval's `rbp_resid`.
pub(crate) fn rank_biased_residual(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let p = parameters.persistence.unwrap_or(RBP_P);
    let (mut sum, mut weight, mut unjudged) = (0.0, 1.0, false);
    for judgment in &ranking.judgments {
        if !matches!(judgment, Judgment::Grade(_)) {
            unjudged = true;
            sum += weight;
        }
        weight *= p;
    }
    if unjudged { weight + (1.0 - p) * sum } else { 0.0 }
}

/// C = ((i + T + T_i - 1) / (i + T + T_i))^2 at rank i, where T_i is what is left of the target gain T
/// (Bailey et al. 2015).
pub(crate) fn inst(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let target = target(parameters);
    expected_gain(scaled(ranking, parameters), |rank, _, total| {
        let sum = rank + target + (target - total);
        ((sum - 1.0) / sum).powi(2)
    })
}

/// C = ((i + 2T - 1) / (i + 2T))^2 at rank i (Moffat, Scholer and Thomas 2012).
pub(crate) fn insq(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let target = target(parameters);
    expected_gain(scaled(ranking, parameters), |rank, _, _| {
        ((rank + 2.0 * target - 1.0) / (rank + 2.0 * target)).powi(2)
    })
}

/// C = 1 until the gains reach T or the rank reaches k (Zhang et al. 2017, the static model).
pub(crate) fn bejeweled_player(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let (target, cutoff) = (target(parameters), cutoff(parameters));
    expected_gain(
        scaled(ranking, parameters),
        |rank, _, total| {
            if total < target && rank < cutoff { 1.0 } else { 0.0 }
        },
    )
}

/// C = log(i + 1) / log(i + 2) before rank k: DCG over the sum of its first k discounts.
pub(crate) fn scaled_dcg(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let cutoff = cutoff(parameters);
    expected_gain(scaled(ranking, parameters), |rank, _, _| {
        if rank < cutoff { (rank + 1.0).log2() / (rank + 2.0).log2() } else { 0.0 }
    })
}

/// C = 1 - gain before rank k (Azzopardi, Mackenzie and Moffat 2021, equation 8).
pub(crate) fn nerr8(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let cutoff = cutoff(parameters);
    expected_gain(scaled(ranking, parameters), |rank, gain, _| if rank < cutoff { 1.0 - gain } else { 0.0 })
}

/// C = i / (i + 1) (1 - gain) before rank k (equation 9).
pub(crate) fn nerr9(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let cutoff = cutoff(parameters);
    expected_gain(scaled(ranking, parameters), |rank, gain, _| {
        if rank < cutoff { rank / (rank + 1.0) * (1.0 - gain) } else { 0.0 }
    })
}

/// C = p (1 - gain) (equation 10).
pub(crate) fn nerr10(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let p = parameters.persistence.unwrap_or(NERR10_P);
    expected_gain(scaled(ranking, parameters), |_, gain, _| p * (1.0 - gain))
}

/// C = ((i + 2T - 1) / (i + 2T))^2 (1 - gain) (equation 12).
pub(crate) fn nerr11(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let target = target(parameters);
    expected_gain(scaled(ranking, parameters), |rank, gain, _| {
        ((rank + 2.0 * target - 1.0) / (rank + 2.0 * target)).powi(2) * (1.0 - gain)
    })
}
