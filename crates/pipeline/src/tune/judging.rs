//! The measure and the judgments by which parameters are chosen.

use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;
use rayon::prelude::*;
use toller_eval::{Measure, QueryJudge};
use toller_ir::Qrels;

use super::Tuned;
use super::error::TuneError;

/// A measure and the judgments that it is computed from.
#[derive(Clone, Copy, Debug)]
pub struct Judging<'a> {
    /// The judgments. All of their queries count, those without any hit as nothing retrieved.
    pub qrels: &'a Qrels,
    /// The measure to maximize.
    pub measure: &'a Measure,
    /// The lowest grade that is relevant, unless the measure names its own.
    pub relevance_level: u32,
    /// How many hits of each query count, at most.
    pub k: usize,
}

/// One judged query.
pub(super) struct Judged<'a> {
    pub(super) id: &'a str,
    pub(super) judgments: &'a IndexMap<String, i32>,
    judge: QueryJudge<'a>,
}

impl Judged<'_> {
    /// The measure of a ranking, from the grade of each document, best first.
    pub(super) fn value(&self, grades: impl IntoIterator<Item = Option<i32>>) -> f64 {
        self.judge.values(grades).first().copied().unwrap_or(0.0)
    }

    /// The measure where nothing is retrieved.
    pub(super) fn of_nothing(&self) -> f64 {
        self.value([])
    }
}

impl Judging<'_> {
    /// How many hits the measure looks at.
    pub(super) fn depth(&self) -> usize {
        self.measure.depth().map_or(self.k, |depth| depth.min(self.k))
    }

    /// Computes the values of all `points` for each judged query, in parallel, and the measure of each point.
    /// A thread keeps for its queries what `start` makes. `on_progress` is given the number of queries that
    /// are done.
    pub(super) fn tune<S>(
        &self,
        points: usize,
        on_progress: &(dyn Fn(u64) + Sync),
        start: impl Fn() -> S + Send + Sync,
        values_of: impl Fn(&mut S, &Judged<'_>) -> Result<Vec<f64>, TuneError> + Sync,
    ) -> Result<Tuned, TuneError> {
        // The order in which `evaluate` adds up.
        let mut queries: Vec<_> = self.qrels.iter().collect();
        queries.sort_unstable_by_key(|(id, _)| *id);
        let measures = std::slice::from_ref(self.measure);
        let done = AtomicU64::new(0);
        let of_query = |kept: &mut S, (id, judgments): &(&str, &IndexMap<String, i32>)| {
            let judge = QueryJudge::new(id, judgments, measures, self.relevance_level)?;
            let values = values_of(kept, &Judged { id, judgments, judge })?;
            on_progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            Ok::<_, TuneError>(values)
        };
        // `[queries, points]`
        let values = queries.par_iter().map_init(start, of_query);
        let values = values.collect::<Result<Vec<Vec<f64>>, TuneError>>()?;
        let of_point = |point: usize| {
            self.measure.aggregate(values.iter().filter_map(|query| query.get(point)).copied())
        };
        Ok(Tuned::new((0..points).map(of_point).collect()))
    }

    /// Refuses queries if none of them is judged.
    pub(super) fn check_queries<'q>(
        &self,
        queries: impl ExactSizeIterator<Item = &'q str>,
    ) -> Result<(), TuneError> {
        let count = queries.len();
        let mut example = None;
        for query in queries {
            if self.qrels.query(query).is_some() {
                return Ok(());
            }
            example.get_or_insert(query);
        }
        Err(TuneError::NoJudgedQuery { queries: count, example: example.unwrap_or("").to_owned() })
    }
}
