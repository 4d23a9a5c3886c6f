//! The vote: one grade of several annotators', or none.

use std::collections::BTreeMap;

use toller_ir::Qrels;

use crate::pool::Pair;
use crate::ratings::{Rating, Ratings};

/// What became of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This grade won.
    Grade(i32),
    /// No grade has enough votes, or two have as many.
    Undecided,
}

/// The judgments, and what is not among them.
#[derive(Clone, Debug, Default)]
pub struct Vote {
    /// The grades that won.
    pub qrels: Qrels,
    /// How many they are.
    pub decided: usize,
    /// Pairs without a grade, for another annotator; they are excluded from the judgments.
    pub undecided: Vec<Pair>,
}

/// A grade wins if it has at least `votes` votes and more than any other. With `votes` 2 that is T2Ranking's
/// rule (Xie et al. 2023): two of three annotators decide, a fourth is asked where all three differ, and a
/// pair on which four differ is excluded.
#[must_use]
pub fn vote(ratings: &Ratings, votes: usize) -> Vote {
    let mut result = Vote::default();
    for (pair, of_pair) in &ratings.pairs {
        match outcome(of_pair, votes) {
            Outcome::Grade(grade) => {
                result.qrels.insert(&pair.query_id, &pair.doc_id, grade);
                result.decided += 1;
            }
            Outcome::Undecided => result.undecided.push(pair.clone()),
        }
    }
    result
}

fn outcome(ratings: &[Rating], votes: usize) -> Outcome {
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    for rating in ratings {
        *counts.entry(rating.grade).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(0);
    let mut winners = counts.iter().filter(|(_, count)| **count == most);
    match (winners.next(), winners.next()) {
        (Some((grade, _)), None) if most >= votes => Outcome::Grade(*grade),
        _ => Outcome::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, outcome, vote};
    use crate::pool::Pair;
    use crate::ratings::{Rating, Ratings};

    #[test]
    fn the_rule_of_t2ranking() {
        let of = |grades: &[i32], votes| {
            let rating = |(at, grade): (usize, &i32)| Rating { annotator: at.to_string(), grade: *grade };
            outcome(&grades.iter().enumerate().map(rating).collect::<Vec<_>>(), votes)
        };
        assert_eq!(of(&[2, 2, 0], 2), Outcome::Grade(2));
        assert_eq!(of(&[2, 1, 0], 2), Outcome::Undecided);
        assert_eq!(of(&[2, 1, 0, 1], 2), Outcome::Grade(1));
        assert_eq!(of(&[2, 1, 0, 3], 2), Outcome::Undecided);
        assert_eq!(of(&[2, 2, 0, 0], 2), Outcome::Undecided, "a tie");
        assert_eq!((of(&[1], 2), of(&[1], 1)), (Outcome::Undecided, Outcome::Grade(1)));
    }

    #[test]
    fn what_is_undecided_is_excluded() {
        let mut ratings = Ratings::default();
        let pair = |document: &str| Pair { query_id: "q".into(), doc_id: document.into() };
        for (document, who, grade) in [("a", "x", 1), ("a", "y", 1), ("b", "x", 1), ("b", "y", 0)] {
            ratings.add(pair(document), who, grade).unwrap();
        }
        let result = vote(&ratings, 2);
        assert_eq!((result.decided, result.undecided), (1, vec![pair("b")]));
        assert_eq!(result.qrels.query("q").map(|judged| judged.len()), Some(1));
    }
}
