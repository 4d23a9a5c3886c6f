//! All pairs of runs by one measure.

use serde::Serialize;
use toller_eval::{
    CompareError, CompareOptions, Evaluation, PairComparison, Pairs as Compared, Test, compare_pairs,
};

/// A difference with a corrected p-value below this is significant.
const SIGNIFICANCE: f64 = 0.05;

/// All pairs of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pairs {
    /// The measure.
    pub measure: String,
    /// The pairs, each once.
    pub pairs: Vec<Pair>,
}

/// Two runs compared, query by query.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The first run.
    pub first: usize,
    /// The second run, which comes later.
    pub second: usize,
    /// Mean of second - first.
    pub difference: f64,
    /// The interval of the difference with a confidence of 95 % (Student's).
    pub interval: [f64; 2],
    /// Cohen's d of the differences: their mean over their standard deviation.
    pub effect: f64,
    /// Queries on which the second is better.
    pub wins: usize,
    /// Queries on which both are the same.
    pub ties: usize,
    /// Queries on which the second is worse.
    pub losses: usize,
    /// The test's two-sided p-value.
    pub p: f64,
    /// The p-value after Holm's correction for all pairs; Tukey's test needs none.
    pub corrected_p: f64,
}

impl Pairs {
    /// Compares each run with each by every measure that is a mean and says how good an order is.
    pub(super) fn all(runs: &[&Evaluation], test: Test) -> Result<Vec<Self>, CompareError> {
        let options = CompareOptions { tests: vec![test], ..CompareOptions::default() };
        let mut all: Vec<Self> = Vec::new();
        let all_pairs = compare_pairs(runs, Compared::All, &options)?;
        for comparison in all_pairs.iter().filter(|pair| !pair.measure.is_of_judging()) {
            let measure = comparison.measure.to_string();
            match all.last_mut().filter(|pairs| pairs.measure == measure) {
                Some(pairs) => pairs.pairs.push(Pair::of(comparison, test)),
                None => all.push(Self { measure, pairs: vec![Pair::of(comparison, test)] }),
            }
        }
        Ok(all)
    }

    /// The pair of two runs, seen from `row`: differences are row - column.
    pub(crate) fn of(&self, row: usize, column: usize) -> Option<Pair> {
        let same = |pair: &&Pair| (pair.first, pair.second) == (row.min(column), row.max(column));
        let pair = *self.pairs.iter().find(same)?;
        if pair.second == row {
            return Some(pair);
        }
        let (wins, losses) = (pair.losses, pair.wins);
        let interval = [-pair.interval[1], -pair.interval[0]];
        let (difference, effect) = (-pair.difference, -pair.effect);
        Some(Pair { first: column, second: row, difference, interval, effect, wins, losses, ..pair })
    }

    /// The runs than which `run` is significantly better.
    pub(crate) fn beaten_by(&self, run: usize) -> impl Iterator<Item = usize> + '_ {
        let others = self.pairs.iter().filter(move |pair| pair.first == run || pair.second == run);
        others.filter_map(move |pair| {
            let other = if pair.first == run { pair.second } else { pair.first };
            let pair = self.of(run, other)?;
            (pair.is_significant() && pair.difference > 0.0).then_some(other)
        })
    }
}

impl Pair {
    fn of(comparison: &PairComparison, test: Test) -> Self {
        let tested = comparison.test(test);
        let p = tested.map_or(1.0, |tested| tested.outcome.p_value());
        Self {
            first: comparison.baseline,
            second: comparison.run,
            difference: comparison.t_test.mean_difference,
            interval: [comparison.interval.low, comparison.interval.high],
            effect: comparison.effect.cohens_d,
            wins: comparison.wins,
            ties: comparison.ties,
            losses: comparison.losses,
            p,
            corrected_p: tested.map_or(p, |tested| tested.adjusted_p),
        }
    }

    /// Whether the difference is significant after correction.
    pub(crate) fn is_significant(&self) -> bool {
        self.corrected_p < SIGNIFICANCE
    }
}

#[cfg(test)]
mod tests {
    use toller_eval::{Evaluation, QueryEvaluation, Test};

    use super::Pairs;

    fn evaluation(value: impl Fn(u32) -> f64) -> Evaluation {
        let query = |at: u32| QueryEvaluation {
            query_id: format!("{at:02}"),
            retrieved: true,
            values: vec![value(at)],
            weights: vec![1.0],
        };
        let per_query: Vec<_> = (0..20).map(query).collect();
        Evaluation {
            measures: vec!["AP".parse().unwrap()],
            per_query,
            aggregates: vec![0.0],
            missing: 0,
            unjudged: 0,
        }
    }

    #[test]
    fn nothing_is_better_by_how_much_is_judged() {
        let of = |value: f64| {
            let measures = vec!["Unjudged@10".parse().unwrap()];
            Evaluation { measures, ..evaluation(|at| value + f64::from(at % 3) / 100.0) }
        };
        assert!(Pairs::all(&[&of(0.1), &of(0.8)], Test::T).unwrap().is_empty());
    }

    #[test]
    fn a_pair_is_seen_from_both_sides() {
        let high = evaluation(|at| 0.8 + f64::from(at % 3) / 100.0);
        let low = evaluation(|at| 0.1 + f64::from(at % 5) / 100.0);
        let all = Pairs::all(&[&low, &high, &low], Test::T).unwrap();
        let pairs = &all[0];
        assert_eq!((all.len(), &*pairs.measure, pairs.pairs.len()), (1, "AP", 3));
        let (up, down) = (pairs.of(1, 0).unwrap(), pairs.of(0, 1).unwrap());
        assert!(up.difference > 0.6 && up.difference == -down.difference);
        assert!(down.interval[0] < down.difference && down.difference < down.interval[1]);
        assert_eq!((up.wins, up.losses, down.wins, down.losses), (20, 0, 0, 20));
        assert_eq!(pairs.beaten_by(1).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(pairs.beaten_by(0).count(), 0);
        assert!(pairs.of(1, 1).is_none());
        // Holm's correction: the smallest of three p-values is multiplied by three.
        assert!(up.corrected_p >= up.p);
    }

    #[test]
    fn each_test_has_its_p_value() {
        let runs = [evaluation(|at| f64::from(at % 7) / 10.0), evaluation(|at| f64::from(at % 5) / 9.0)];
        let p = |test| Pairs::all(&[&runs[0], &runs[1]], test).unwrap()[0].pairs[0].p;
        let values = Test::ALL.map(p);
        assert!(values.iter().all(|p| (0.1..0.3).contains(p)), "{values:?}");
        assert!(values[1..].iter().all(|p| *p != values[0]), "{values:?}");
    }
}
