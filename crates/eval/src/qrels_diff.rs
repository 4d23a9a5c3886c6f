//! How two sets of judgments differ.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use toller_ir::Qrels;

/// How a second set of judgments differs from a first one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QrelsDifference {
    /// Queries only in the first set, in both, and only in the second.
    pub queries: [usize; 3],
    /// Pairs of a query and a document that are judged only in the first set, in both, and only in the
    /// second.
    pub pairs: [usize; 3],
    /// Relevant pairs only in the first set, in both, and only in the second.
    pub relevant: [usize; 3],
    /// How many pairs have this grade in the first set and this one in the second; `None` where a set does
    /// not judge the pair.
    pub grades: BTreeMap<(Option<i32>, Option<i32>), usize>,
    /// Queries of both sets whose relevant documents differ.
    pub changed_queries: usize,
}

impl QrelsDifference {
    /// Relevant documents for each query of the first set and of the second.
    #[must_use]
    pub fn relevant_per_query(&self) -> [f64; 2] {
        let share = |of: usize| {
            let relevant = self.relevant[of] + self.relevant[1];
            relevant as f64 / ((self.queries[of] + self.queries[1]) as f64)
        };
        [share(0), share(2)]
    }

    /// Of the pairs that both sets judge, the share with the same grade; `None` without such pairs.
    #[must_use]
    pub fn agreement(&self) -> Option<f64> {
        let same = self.grades.iter().filter(|((a, b), _)| a == b).map(|(_, count)| count).sum::<usize>();
        (self.pairs[1] > 0).then(|| same as f64 / self.pairs[1] as f64)
    }

    /// Cohen's kappa (1960) of the pairs that both sets judge: the agreement beyond what grades drawn with
    /// the same frequencies would have. `None` without such pairs, or if all have one grade.
    #[must_use]
    pub fn kappa(&self) -> Option<f64> {
        let agreement = self.agreement()?;
        let both = || self.grades.iter().filter_map(|((a, b), count)| Some(((*a)?, (*b)?, *count as f64)));
        let (mut first, mut second) = (BTreeMap::new(), BTreeMap::new());
        for (a, b, count) in both() {
            *first.entry(a).or_insert(0.0) += count;
            *second.entry(b).or_insert(0.0) += count;
        }
        let all = self.pairs[1] as f64;
        let chance: f64 =
            first.iter().filter_map(|(grade, count)| Some(count / all * (second.get(grade)? / all))).sum();
        (chance < 1.0).then(|| (agreement - chance) / (1.0 - chance))
    }

    /// Relevant pairs in both sets over those in either; `None` without relevant pairs.
    #[must_use]
    pub fn relevant_overlap(&self) -> Option<f64> {
        let either = self.relevant.iter().sum::<usize>();
        (either > 0).then(|| self.relevant[1] as f64 / either as f64)
    }
}

/// How `second` differs from `first`, where `level` is the lowest relevant grade.
#[must_use]
pub fn diff_qrels(first: &Qrels, second: &Qrels, level: u32) -> QrelsDifference {
    let mut difference = QrelsDifference::default();
    let nothing = IndexMap::new();
    let queries: BTreeSet<&str> = first.iter().chain(second.iter()).map(|(query, _)| query).collect();
    let is_relevant = |grade: Option<i32>| {
        grade.and_then(|grade| u32::try_from(grade).ok()).is_some_and(|grade| grade >= level)
    };
    for query in queries {
        let (before, after) = (first.query(query), second.query(query));
        difference.queries[place(before.is_some(), after.is_some())] += 1;
        let in_both = before.is_some() && after.is_some();
        let (before, after) = (before.unwrap_or(&nothing), after.unwrap_or(&nothing));
        let mut changed = false;
        let added = after.keys().filter(|doc| !before.contains_key(*doc));
        for doc in before.keys().chain(added) {
            let grades = (before.get(doc).copied(), after.get(doc).copied());
            difference.pairs[place(grades.0.is_some(), grades.1.is_some())] += 1;
            *difference.grades.entry(grades).or_default() += 1;
            let relevant = (is_relevant(grades.0), is_relevant(grades.1));
            changed |= relevant.0 != relevant.1;
            if relevant.0 || relevant.1 {
                difference.relevant[place(relevant.0, relevant.1)] += 1;
            }
        }
        difference.changed_queries += usize::from(in_both && changed);
    }
    difference
}

/// 0 for only the first set, 1 for both, 2 for only the second.
fn place(in_first: bool, in_second: bool) -> usize {
    match (in_first, in_second) {
        (true, false) => 0,
        (true, true) => 1,
        (false, _) => 2,
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::Qrels;

    use super::diff_qrels;

    fn qrels(lines: &[(&str, &str, i32)]) -> Qrels {
        let mut qrels = Qrels::new();
        for (query, doc, grade) in lines {
            qrels.insert(query, doc, *grade);
        }
        qrels
    }

    #[test]
    fn by_hand() {
        let first = qrels(&[("1", "a", 1), ("1", "b", 0), ("1", "c", 0), ("2", "a", 1), ("3", "a", 1)]);
        let second = qrels(&[
            ("1", "a", 1),
            ("1", "b", 1),
            ("1", "c", 0),
            ("1", "d", 0),
            ("2", "a", 1),
            ("4", "a", 2),
        ]);
        let difference = diff_qrels(&first, &second, 1);
        assert_eq!(difference.queries, [1, 2, 1]);
        assert_eq!(difference.pairs, [1, 4, 2]);
        assert_eq!(difference.relevant, [1, 2, 2]);
        assert_eq!(difference.changed_queries, 1);
        assert_eq!(difference.relevant_per_query(), [1.0, 4.0 / 3.0]);
        assert_eq!(difference.agreement(), Some(0.75));
        // By chance (2 of 4 times 3 of 4) twice: 0.5 * 0.75 + 0.5 * 0.25 = 0.5.
        assert_eq!(difference.kappa(), Some(0.5));
        assert_eq!(difference.relevant_overlap(), Some(0.4));
        assert_eq!(difference.grades[&(Some(0), Some(1))], 1);
        assert_eq!(difference.grades[&(None, Some(2))], 1);
        assert_eq!(diff_qrels(&first, &second, 2).relevant, [0, 0, 1]);
        let same = diff_qrels(&first, &first, 1);
        assert_eq!((same.kappa(), same.changed_queries), (Some(1.0), 0));
    }
}
