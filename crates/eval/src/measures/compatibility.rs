//! Measures of the order of documents: overlap with the ideal ranking, and pairs in the right order.

use std::collections::HashMap;

use crate::parameters::Parameters;
use crate::ranking::{JudgedRanking, Judgment};

/// `p` of the overlap, where it is not given.
pub(crate) const P: f64 = 0.95;

/// Rank-biased overlap of the ranking with the ideal ranking that is closest to it (Clarke, Vtyurina and
/// Smucker 2021): documents of positive grades by grade, of one grade in the order of the ranking, and those
/// that were not retrieved after them. With `normalize` it is divided by the overlap of the ideal with
/// itself.
pub(crate) fn compatibility(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let p = parameters.persistence.unwrap_or(P);
    let ideal = ranking.relevant(1);
    let depth = ideal.max(ranking.retrieved());
    // A document is in both rankings from the deeper of its two ranks on.
    let mut found_at = vec![0_usize; depth + 1];
    let mut retrieved_of: HashMap<u32, usize> = HashMap::new();
    for (judgment, rank) in ranking.judgments.iter().zip(1..) {
        let Judgment::Grade(grade @ 1..) = judgment else { continue };
        let higher = grade.checked_add(1).map_or(0, |above| ranking.relevant(above));
        let same = retrieved_of.entry(*grade).or_default();
        *same += 1;
        found_at[rank.max(higher + *same)] += 1;
    }
    let (mut both, mut weight, mut overlap, mut best, mut weights) = (0, 1.0, 0.0, 0.0, 0.0);
    for (at, found) in found_at.iter().enumerate().skip(1) {
        both += found;
        overlap += weight * both as f64 / at as f64;
        best += weight * at.min(ideal) as f64 / at as f64;
        weights += weight;
        weight *= p;
    }
    let whole = if parameters.normalize.unwrap_or(true) { best } else { weights };
    if whole > 0.0 { overlap / whole } else { 0.0 }
}

/// Of the pairs of a relevant document and another, both among the first k, the share in which the relevant
/// one is above. 0 if none is relevant, 1 if all are.
pub(crate) fn accuracy(ranking: &JudgedRanking, parameters: &Parameters, level: u32) -> f64 {
    let (mut relevant, mut others, mut wrong) = (0_usize, 0_usize, 0_usize);
    for judgment in ranking.top(parameters.cutoff) {
        if judgment.is_relevant(level) {
            relevant += 1;
            wrong += others;
        } else {
            others += 1;
        }
    }
    match (relevant, others) {
        (0, _) => 0.0,
        (_, 0) => 1.0,
        _ => 1.0 - wrong as f64 / (others as f64 * relevant as f64),
    }
}
