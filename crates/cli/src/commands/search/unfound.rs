//! Queries without hits.

use crate::ui::Ui;

/// Identifiers that a warning names.
const NAMED: usize = 3;

/// Queries without a hit. A run has no line for them, and not every evaluation counts them as 0.
#[derive(Debug, Default)]
pub(in crate::commands) struct Unfound {
    /// All queries.
    queries: usize,
    count: usize,
    first: Vec<String>,
}

impl Unfound {
    /// Counts a query, if it has no `hits`.
    pub(in crate::commands) fn note(&mut self, query_id: &str, hits: usize) {
        self.queries += 1;
        if hits > 0 {
            return;
        }
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(query_id.to_owned());
        }
    }

    /// Their number.
    pub(in crate::commands) fn count(&self) -> usize {
        self.count
    }

    /// Warns of them, if there are any.
    pub(in crate::commands) fn warn(&self, ui: &Ui) {
        let Self { queries, count, first } = self;
        if *count == 0 {
            return;
        }
        if count == queries {
            ui.warning("no query has a hit, so the run is empty");
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
