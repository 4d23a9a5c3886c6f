//! Expected reciprocal rank.

use crate::parameters::Parameters;
use crate::ranking::{JudgedRanking, Judgment};

/// The highest grade of the TREC Web track, for which a user is satisfied with the probability 15/16.
const HIGHEST_GRADE: u32 = 4;

/// The sum of 1 / rank, weighted by the probability that the user stops there (Chapelle et al. 2009). A
/// document of grade g satisfies with the probability (2^g - 1) / 2^4, as in TREC's gdeval; a grade above 4
/// counts as 4.
pub(crate) fn expected_reciprocal_rank(ranking: &JudgedRanking, parameters: &Parameters, _: u32) -> f64 {
    let (mut sum, mut going_on) = (0.0, 1.0);
    for (judgment, rank) in ranking.top(parameters.cutoff).iter().zip(1..) {
        let Judgment::Grade(grade) = judgment else { continue };
        let satisfied = satisfaction(*grade);
        sum += satisfied * going_on / f64::from(rank);
        going_on *= 1.0 - satisfied;
    }
    sum
}

fn satisfaction(grade: u32) -> f64 {
    (f64::from(grade.min(HIGHEST_GRADE)).exp2() - 1.0) / f64::from(HIGHEST_GRADE).exp2()
}
