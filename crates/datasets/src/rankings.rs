//! The order of a run's documents.

use toller_ir::RunEntry;

/// The documents of a query, the best first; equal scores keep the order of the file.
pub(crate) fn best_first(entries: &[RunEntry]) -> Vec<&RunEntry> {
    let mut entries: Vec<&RunEntry> = entries.iter().collect();
    entries.sort_by(|a, b| a.best_first(b));
    entries
}
