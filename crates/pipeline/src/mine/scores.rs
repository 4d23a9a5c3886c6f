//! A reranker's scores of queries' documents.

use std::collections::HashMap;

use toller_ir::Run;
use toller_mining::{MiningError, ScoreRule};

use super::QueryHits;

/// A reranker's scores by query and document, as `rerank` writes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RerankScores(HashMap<String, HashMap<String, f64>>);

impl RerankScores {
    /// The scores in these runs. Of two scores of a document for a query the first counts.
    pub fn of_runs(runs: impl IntoIterator<Item = Run>) -> Self {
        let mut scores: HashMap<String, HashMap<String, f64>> = HashMap::new();
        for (query, entries) in runs.into_iter().flat_map(|run| run.queries) {
            let of_query = scores.entry(query).or_default();
            for entry in entries {
                of_query.entry(entry.doc_id).or_insert(entry.score);
            }
        }
        Self(scores)
    }

    /// The score of a document for a query.
    #[must_use]
    pub fn get(&self, query_id: &str, doc_id: &str) -> Option<f64> {
        self.0.get(query_id)?.get(doc_id).copied()
    }
}

/// A reranker's scores, and what they must be. A document without a score is neither a negative nor a
/// positive.
#[derive(Clone, Copy, Debug)]
pub struct Scored<'a> {
    /// The scores.
    pub scores: &'a RerankScores,
    /// What they must be.
    pub rule: ScoreRule,
}

impl Scored<'_> {
    /// Refuses scores of other queries or documents than `hits`, by which nothing would be a negative.
    ///
    /// # Errors
    /// [`MiningError::OtherScores`].
    pub fn check(&self, hits: &[QueryHits]) -> Result<(), MiningError> {
        let is_scored = |query: &QueryHits| {
            query.hits.iter().any(|hit| self.scores.get(&query.query_id, &hit.id).is_some())
        };
        if hits.is_empty() || hits.iter().any(is_scored) { Ok(()) } else { Err(MiningError::OtherScores) }
    }
}
