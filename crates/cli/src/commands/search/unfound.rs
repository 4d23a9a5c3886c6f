//! Queries for which nothing was found.

use crate::ui::Ui;

/// Identifiers that a warning names.
const NAMED: usize = 3;

/// Queries without a hit: a run has no line of them, which not every evaluation counts as 0.
#[derive(Debug, Default)]
pub(in crate::commands) struct Unfound {
    count: usize,
    first: Vec<String>,
}

impl Unfound {
    /// Counts a query, if it has no `hits`.
    pub(in crate::commands) fn note(&mut self, query_id: &str, hits: usize) {
        if hits > 0 {
            return;
        }
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(query_id.to_owned());
        }
    }

    /// How many there were.
    pub(in crate::commands) fn count(&self) -> usize {
        self.count
    }

    /// Says which, if there were any.
    pub(in crate::commands) fn warn(&self, ui: &Ui) {
        let Self { count, first } = self;
        if *count == 0 {
            return;
        }
        let more = if *count > first.len() { ", ..." } else { "" };
        let (queries, have) = if *count == 1 { ("query", "has") } else { ("queries", "have") };
        ui.warning(format!(
            "{count} {queries} {have} no hits, and no line in the run: {}{more}",
            first.join(", ")
        ));
    }
}
