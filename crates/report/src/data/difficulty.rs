//! How hard each query is for all runs together.

use serde::Serialize;

/// The queries by their mean over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difficulty {
    /// The hardest first.
    pub queries: Vec<QueryDifficulty>,
}

/// A query's values in all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueryDifficulty {
    /// Its place in the report's list of queries.
    pub query: usize,
    /// The mean over the runs.
    pub mean: f64,
    /// The lowest value of a run.
    pub low: f64,
    /// The highest value of a run.
    pub high: f64,
}

impl Difficulty {
    /// Of each run's values, all in the order of the queries.
    pub(super) fn new(runs: &[&[f64]]) -> Self {
        let count = runs.first().map_or(0, |values| values.len());
        let of = |query: usize| {
            let values = || runs.iter().filter_map(|run| run.get(query)).copied();
            QueryDifficulty {
                query,
                mean: values().sum::<f64>() / runs.len() as f64,
                low: values().fold(f64::INFINITY, f64::min),
                high: values().fold(f64::NEG_INFINITY, f64::max),
            }
        };
        let mut queries: Vec<_> = (0..count).map(of).collect();
        queries.sort_by(|a, b| a.mean.total_cmp(&b.mean).then(a.query.cmp(&b.query)));
        Self { queries }
    }
}

impl QueryDifficulty {
    /// How far apart the runs are.
    pub(crate) fn spread(&self) -> f64 {
        self.high - self.low
    }
}

#[cfg(test)]
mod tests {
    use super::Difficulty;

    #[test]
    fn the_hardest_come_first() {
        let found = Difficulty::new(&[&[0.5, 0.0, 1.0], &[0.7, 0.2, 0.0]]);
        assert_eq!(found.queries.iter().map(|query| query.query).collect::<Vec<_>>(), [1, 2, 0]);
        let divided = &found.queries[1];
        assert_eq!((divided.mean, divided.low, divided.high, divided.spread()), (0.5, 0.0, 1.0, 1.0));
    }
}
