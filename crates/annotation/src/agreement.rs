//! How far annotators agree.

use std::collections::{BTreeMap, BTreeSet};

use crate::ratings::Ratings;

/// The agreement of all annotators.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Pairs that at least two judged.
    pub pairs: usize,
    /// The mean share of the pairs of annotators who gave the same grade.
    pub observed: f64,
    /// Fleiss' kappa (1971) of these pairs: 1 is full agreement, 0 is what chance gives. The number of
    /// annotators may differ between pairs.
    pub fleiss_kappa: f64,
    /// Each two annotators with a pair in common.
    pub annotators: Vec<PairAgreement>,
}

/// The agreement of two annotators.
#[derive(Clone, Debug, PartialEq)]
pub struct PairAgreement {
    /// Who.
    pub names: [String; 2],
    /// Pairs that both judged.
    pub pairs: usize,
    /// The share with the same grade.
    pub observed: f64,
    /// Cohen's kappa (1960).
    pub kappa: f64,
    /// Kappa with weights that grow with the distance of the grades (Cohen 1968, linear).
    pub weighted_kappa: f64,
}

/// The agreement of annotators; `None` if no pair was judged twice.
#[must_use]
pub fn agreement(ratings: &Ratings) -> Option<Agreement> {
    let judged_twice: Vec<Vec<i32>> = ratings
        .pairs
        .values()
        .filter(|ratings| ratings.len() > 1)
        .map(|ratings| ratings.iter().map(|rating| rating.grade).collect())
        .collect();
    if judged_twice.is_empty() {
        return None;
    }
    let observed =
        judged_twice.iter().map(|grades| same_share(grades)).sum::<f64>() / judged_twice.len() as f64;
    let expected =
        shares(judged_twice.iter().flatten().copied()).values().map(|share| share * share).sum::<f64>();
    Some(Agreement {
        pairs: judged_twice.len(),
        observed,
        fleiss_kappa: beyond_chance(observed, expected),
        annotators: of_annotators(ratings),
    })
}

/// The share of the pairs of annotators who gave the same grade.
fn same_share(grades: &[i32]) -> f64 {
    let count = grades.len() as f64;
    let mut counts: BTreeMap<i32, f64> = BTreeMap::new();
    for grade in grades {
        *counts.entry(*grade).or_default() += 1.0;
    }
    counts.values().map(|same| same * (same - 1.0)).sum::<f64>() / (count * (count - 1.0))
}

fn shares(grades: impl Iterator<Item = i32> + Clone) -> BTreeMap<i32, f64> {
    let all = grades.clone().count() as f64;
    let mut shares = BTreeMap::new();
    for grade in grades {
        *shares.entry(grade).or_default() += 1.0 / all;
    }
    shares
}

/// What is agreed beyond chance, as a share of what could be. If chance alone gives full agreement, as with
/// one grade for everything, there is nothing beyond it, and full agreement counts as 1.
fn beyond_chance(observed: f64, expected: f64) -> f64 {
    if expected >= 1.0 { observed } else { (observed - expected) / (1.0 - expected) }
}

fn of_annotators(ratings: &Ratings) -> Vec<PairAgreement> {
    let names: BTreeSet<&str> =
        ratings.pairs.values().flatten().map(|rating| rating.annotator.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut found = Vec::new();
    for (at, first) in names.iter().enumerate() {
        for second in &names[at + 1..] {
            let grade = |ratings: &[crate::Rating], name: &str| {
                ratings.iter().find(|rating| rating.annotator == name).map(|rating| rating.grade)
            };
            let both = |ratings: &Vec<crate::Rating>| Some((grade(ratings, first)?, grade(ratings, second)?));
            let grades: Vec<(i32, i32)> = ratings.pairs.values().filter_map(both).collect();
            if !grades.is_empty() {
                found.push(of_two([first, second].map(|name| (*name).to_owned()), &grades));
            }
        }
    }
    found
}

fn of_two(names: [String; 2], grades: &[(i32, i32)]) -> PairAgreement {
    let count = grades.len() as f64;
    let observed = grades.iter().filter(|(first, second)| first == second).count() as f64 / count;
    let first = shares(grades.iter().map(|(first, _)| *first));
    let second = shares(grades.iter().map(|(_, second)| *second));
    let expected = first.iter().filter_map(|(grade, share)| Some(share * second.get(grade)?)).sum();
    let distance = |a: i32, b: i32| (f64::from(a) - f64::from(b)).abs();
    let apart = grades.iter().map(|(first, second)| distance(*first, *second)).sum::<f64>() / count;
    let by_chance: f64 = first
        .iter()
        .flat_map(|(one, share)| second.iter().map(move |(other, of)| share * of * distance(*one, *other)))
        .sum();
    PairAgreement {
        names,
        pairs: grades.len(),
        observed,
        kappa: beyond_chance(observed, expected),
        weighted_kappa: if by_chance > 0.0 { 1.0 - apart / by_chance } else { 1.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::agreement;
    use crate::pool::Pair;
    use crate::ratings::Ratings;

    /// Grades of each pair, one of each annotator; `None` where an annotator did not judge.
    fn ratings(grades: &[&[Option<i32>]]) -> Ratings {
        let mut ratings = Ratings::default();
        for (at, of_pair) in grades.iter().enumerate() {
            for (annotator, grade) in of_pair.iter().enumerate() {
                let pair = Pair { query_id: "q".into(), doc_id: format!("d{at:03}") };
                if let Some(grade) = grade {
                    ratings.add(pair, &format!("a{annotator}"), *grade).unwrap();
                }
            }
        }
        ratings
    }

    #[test]
    fn cohens_kappa_of_the_textbook() {
        // 20 times both yes, 5 and 10 times one yes, 15 times both no: observed .7, expected .5.
        let table = [(20, (1, 1)), (5, (1, 0)), (10, (0, 1)), (15, (0, 0))];
        let grades: Vec<[Option<i32>; 2]> = table
            .iter()
            .flat_map(|(times, (first, second))| std::iter::repeat_n([Some(*first), Some(*second)], *times))
            .collect();
        let slices: Vec<&[Option<i32>]> = grades.iter().map(<[_; 2]>::as_slice).collect();
        let found = agreement(&ratings(&slices)).unwrap();
        let two = &found.annotators[0];
        assert_eq!((two.pairs, found.pairs), (50, 50));
        assert!((two.observed - 0.7).abs() < 1e-12 && (two.kappa - 0.4).abs() < 1e-12);
        assert!((two.weighted_kappa - 0.4).abs() < 1e-12, "with two grades, weights change nothing");
    }

    #[test]
    fn fleiss_kappa_of_his_table() {
        // Fleiss 1971: ten subjects, fourteen raters, five categories; kappa .2099.
        let table = [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ];
        let grades: Vec<Vec<Option<i32>>> = table
            .iter()
            .map(|counts| {
                (0..)
                    .zip(counts)
                    .flat_map(|(grade, times)| std::iter::repeat_n(Some(grade), *times))
                    .collect()
            })
            .collect();
        let slices: Vec<&[Option<i32>]> = grades.iter().map(Vec::as_slice).collect();
        let found = agreement(&ratings(&slices)).unwrap();
        assert!((found.observed - 0.378).abs() < 5e-4, "{}", found.observed);
        assert!((found.fleiss_kappa - 0.2099).abs() < 5e-5, "{}", found.fleiss_kappa);
    }

    #[test]
    fn weights_count_the_distance() {
        let near =
            agreement(&ratings(&[&[Some(0), Some(1)], &[Some(3), Some(3)], &[Some(0), Some(0)]])).unwrap();
        let far =
            agreement(&ratings(&[&[Some(0), Some(3)], &[Some(3), Some(3)], &[Some(0), Some(0)]])).unwrap();
        assert_eq!(near.annotators[0].observed, far.annotators[0].observed);
        assert!(near.annotators[0].weighted_kappa > far.annotators[0].weighted_kappa);
    }

    #[test]
    fn few_judgments() {
        assert_eq!(agreement(&ratings(&[&[Some(1)], &[None, Some(0)]])), None);
        let found = agreement(&ratings(&[&[Some(1), Some(1)], &[Some(1), None, Some(1)]])).unwrap();
        assert_eq!((found.observed, found.fleiss_kappa, found.annotators.len()), (1.0, 1.0, 2));
    }
}
