//! The values of a report as rows: a run, or a group or a query of a run.

use std::collections::HashSet;

use super::{Report, RunReport};
use crate::evaluate::Evaluation;

/// A row of values.
pub(super) struct Row<'a> {
    pub(super) run: &'a RunReport,
    /// Which of the report's runs.
    pub(super) index: usize,
    /// The group, `macro` for the mean of the groups, or `all`.
    pub(super) group: &'a str,
    pub(super) queries: usize,
    pub(super) values: Vec<f64>,
}

/// The name of all queries' row.
pub(super) const ALL: &str = "all";

/// The name of the row that has the mean of the groups.
pub(super) const MACRO: &str = "macro";

/// The rows of each run: its groups and their mean, if there are any, and all queries.
pub(super) fn rows(report: &Report) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (index, run) in report.runs.iter().enumerate() {
        let mut push = |group, queries, values| rows.push(Row { run, index, group, queries, values });
        for (name, evaluation) in &run.groups {
            push(name.as_str(), evaluation.per_query.len(), evaluation.aggregates.clone());
        }
        if !run.groups.is_empty() {
            // A query that is in two groups counts once.
            let queries: HashSet<&str> = run.groups.iter().flat_map(|(_, group)| query_ids(group)).collect();
            push(MACRO, queries.len(), run.macro_average());
        }
        push(ALL, run.evaluation.per_query.len(), run.evaluation.aggregates.clone());
    }
    rows
}

fn query_ids(evaluation: &Evaluation) -> impl Iterator<Item = &str> {
    evaluation.per_query.iter().map(|query| query.query_id.as_str())
}

impl RunReport {
    /// The mean of each measure over the groups; counts are summed. Empty without groups.
    #[must_use]
    pub fn macro_average(&self) -> Vec<f64> {
        let Some((_, first)) = self.groups.first() else { return Vec::new() };
        let values = |at: usize| self.groups.iter().map(move |(_, group)| group.aggregates[at]);
        let mean = |at: usize| values(at).sum::<f64>() / self.groups.len() as f64;
        let average = |at: usize| if first.measures[at].is_count() { values(at).sum() } else { mean(at) };
        (0..first.measures.len()).map(average).collect()
    }
}
