//! trec_eval's experimental measures of gain: nDCG averaged over ranks, and G.

use super::ndcg::{ideal_gains, judged_gain};
use crate::parameters::Parameters;
use crate::ranking::JudgedRanking;

/// Sums of gain / log2(rank + 1): at each place, the sum over the ranks up to it; 0 at place 0.
fn dcg_up_to(gains: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sums = vec![0.0];
    let mut sum = 0.0;
    for (index, gain) in gains.enumerate() {
        if gain != 0.0 {
            sum += gain / ((index + 2) as f64).log2();
        }
        sums.push(sum);
    }
    sums
}

/// The sum at `place`, or the last one beyond the end.
fn at(sums: &[f64], place: usize) -> f64 {
    sums[place.min(sums.len() - 1)]
}

/// nDCG at the rank of each retrieved document of positive gain, and at the end of the ranking for each that
/// was not retrieved, averaged. trec_eval's `ndcg_rel`.
pub(crate) fn ndcg_at_relevant(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let gains = || ranking.judgments.iter().map(|judgment| judged_gain(parameters, *judgment));
    let ideal_gains = ideal_gains(ranking, parameters);
    let relevant = ideal_gains.len();
    let (dcg, ideal) = (dcg_up_to(gains()), dcg_up_to(ideal_gains.into_iter()));
    let (mut sum, mut found) = (0.0, 0_usize);
    for (gain, rank) in gains().zip(1..) {
        if gain > 0.0 {
            sum += dcg[rank] / at(&ideal, rank);
            found += 1;
        }
    }
    if relevant == 0 {
        return 0.0;
    }
    sum += (relevant as f64 - found as f64) * at(&dcg, usize::MAX) / at(&ideal, usize::MAX);
    if sum > 0.0 { sum / relevant as f64 } else { 0.0 }
}

/// nDCG at each rank at which the ideal ranking goes on to a lower gain, and at the end of a ranking that is
/// longer, averaged. trec_eval's `Rndcg`.
pub(crate) fn ndcg_at_levels(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let ideal_gains = ideal_gains(ranking, parameters);
    if ranking.relevant(level) == 0 || ideal_gains.is_empty() {
        return 0.0;
    }
    let positive = ideal_gains.len();
    let mut places: Vec<usize> =
        (1..positive).filter(|place| ideal_gains[*place] != ideal_gains[place - 1]).collect();
    places.push(positive);
    // trec_eval leaves out the end of a ranking that goes on for only one document.
    if positive + 1 < ranking.retrieved() {
        places.push(ranking.retrieved());
    }
    let gains = ranking.judgments.iter().map(|judgment| judged_gain(parameters, *judgment));
    let (dcg, ideal) = (dcg_up_to(gains), dcg_up_to(ideal_gains.iter().copied()));
    let sum = places.iter().fold(0.0, |sum, place| sum + at(&dcg, *place) / at(&ideal, *place));
    sum / places.len() as f64
}

/// 1 / log2(2 + n) of each relevant document retrieved below n others, over the number of all relevant
/// documents. trec_eval's `binG`.
pub(crate) fn binary_gain(ranking: &JudgedRanking, _: &Parameters, level: u32) -> f64 {
    let relevant = ranking.relevant(level);
    if relevant == 0 {
        return 0.0;
    }
    let discounts = ranking.relevant_ranks(None, level).enumerate().map(|(earlier, rank)| {
        // Of the rank - 1 documents above, `earlier` are relevant.
        1.0 / ((2 + rank - 1 - earlier) as f64).log2()
    });
    discounts.fold(0.0, |sum, discount| sum + discount) / relevant as f64
}

/// gain / log2(2 + c - g) of each document, over the sum of all gains: g is the gain up to its rank, and c
/// what the ideal ranking has there, each document counted as at least 1. trec_eval's `G`.
pub(crate) fn normalized_gain(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let ideal_gains = ideal_gains(ranking, parameters);
    let whole = ideal_gains.iter().fold(0.0, |sum, gain| sum + gain);
    if whole <= 0.0 {
        return 0.0;
    }
    let (mut sum, mut seen, mut possible) = (0.0, 0.0, 0.0);
    for (index, judgment) in ranking.judgments.iter().enumerate() {
        let gain = judged_gain(parameters, *judgment);
        seen += gain;
        possible += ideal_gains.get(index).map_or(1.0, |gain| gain.max(1.0));
        if gain != 0.0 {
            sum += gain / f64::log2(2.0 + possible - seen);
        }
    }
    sum / whole
}
