//! A run: what a system retrieved for each query.

use std::cmp::Ordering;

use indexmap::IndexMap;

/// One line of a run: a document retrieved for a query.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    /// The document's identifier.
    pub doc_id: String,
    /// The score; larger is better. Read as f64, so that no digit of the file is lost.
    pub score: f64,
}

impl RunEntry {
    /// The order of a query's entries, the best first. A stable sort leaves equal scores in the order of the
    /// file.
    #[must_use]
    pub fn best_first(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score)
    }
}

/// What a system retrieved for each query, in the order of the file.
///
/// The entries are as the file lists them; evaluation orders them by its own rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The run's tag (the sixth column of a TREC run), empty if the format has none.
    pub tag: String,
    /// The entries of each query.
    pub queries: IndexMap<String, Vec<RunEntry>>,
}

impl Run {
    /// Removes the hits whose document has the identifier of its query: the query itself, if queries are
    /// passages of the collection. A query that has no other hit stays, without hits.
    pub fn remove_queries(&mut self) {
        for (query, entries) in &mut self.queries {
            entries.retain(|entry| entry.doc_id != *query);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Run, RunEntry};

    #[test]
    fn a_query_is_no_hit_of_itself() {
        let entries = |ids: &[&str]| -> Vec<RunEntry> {
            ids.iter().map(|id| RunEntry { doc_id: (*id).to_owned(), score: 1.0 }).collect()
        };
        let run = |a: &[&str], b: &[&str]| Run {
            tag: String::new(),
            queries: [("a".to_owned(), entries(a)), ("b".to_owned(), entries(b))].into(),
        };
        let mut found = run(&["b", "a", "c"], &["b"]);
        found.remove_queries();
        assert_eq!(found, run(&["b", "c"], &[]));
    }
}
