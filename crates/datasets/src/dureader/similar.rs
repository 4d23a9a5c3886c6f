//! Training queries that resemble test queries (DuReader-retrieval, section 2.3).

use std::collections::HashSet;
use std::path::Path;

use toller_ir::{Qrels, Query, Run};

use crate::error::DatasetError;
use crate::folder::{Folder, check_judged};
use crate::statistics::{Part, Statistics, mean};

/// What resembles what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimilarQueries<'a> {
    /// Training queries to remove.
    pub training: HashSet<&'a str>,
    /// Development and test queries that a training query resembles.
    pub test: HashSet<&'a str>,
    /// How many development and test queries were compared.
    pub compared: usize,
}

/// The pairs whose score is higher than `threshold`. The queries of `run` are development or test queries,
/// its documents are training queries, and its scores are any model's: a search of encoded training queries,
/// or that search reranked by a cross-encoder.
#[must_use]
pub fn similar_queries(run: &Run, threshold: f64) -> SimilarQueries<'_> {
    let mut similar = SimilarQueries { compared: run.queries.len(), ..SimilarQueries::default() };
    for (query, entries) in &run.queries {
        for entry in entries.iter().filter(|entry| entry.score > threshold) {
            similar.training.insert(&entry.doc_id);
            similar.test.insert(query);
        }
    }
    similar
}

impl SimilarQueries<'_> {
    /// The training queries that stay, in their order.
    #[must_use]
    pub fn without(&self, queries: &[Query]) -> Vec<Query> {
        let stays = |query: &&Query| !self.training.contains(query.id.as_str());
        queries.iter().filter(stays).cloned().collect()
    }

    /// Writes the training queries that stay as queries.tsv, those that do not as removed.tsv, and of `qrels`
    /// the judgments of those that stay as qrels.txt.
    ///
    /// # Errors
    /// If a judged query is not a training query, or a file cannot be written.
    pub fn write(
        &self,
        queries: &[Query],
        qrels: Option<&Qrels>,
        output: &Path,
    ) -> Result<(Vec<String>, Statistics), DatasetError> {
        let kept = self.without(queries);
        let removed = queries.iter().filter(|query| self.training.contains(query.id.as_str()));
        let removed: Vec<Query> = removed.cloned().collect();
        let mut folder = Folder::create(output)?;
        folder.queries("queries.tsv", &kept)?;
        folder.queries("removed.tsv", &removed)?;
        let test = mean(100.0 * self.test.len() as f64, self.compared);
        let part =
            Part::new("similar").count("training_queries", queries.len()).count("removed", removed.len());
        let part = part.count("test_queries", self.compared).count("similar_test_queries", self.test.len());
        let mut part = part.real("similar_test_percent", test);
        if let Some(qrels) = qrels {
            check_judged(queries, qrels, None)?;
            let mut left = Qrels::new();
            for (query, judged) in qrels.iter().filter(|(query, _)| !self.training.contains(query)) {
                for (document, grade) in judged {
                    left.insert(query, document, *grade);
                }
            }
            folder.qrels("qrels.txt", &left)?;
            let pairs = |qrels: &Qrels| qrels.iter().map(|(_, judged)| judged.len()).sum::<usize>();
            part =
                part.count("judgments", pairs(qrels)).count("removed_judgments", pairs(qrels) - pairs(&left));
        }
        Ok((folder.commit()?, Statistics(vec![part])))
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::{Query, Run, RunEntry};

    use super::similar_queries;

    #[test]
    fn pairs_above_the_threshold() {
        let mut run = Run::default();
        let entry = |(id, score): (&str, f64)| RunEntry { doc_id: id.into(), score };
        run.queries.insert("dev1".into(), [("a", 0.9), ("b", 0.5), ("c", 0.51)].map(entry).into());
        run.queries.insert("dev2".into(), [("a", 0.6)].map(entry).into());
        run.queries.insert("dev3".into(), [("d", 0.1)].map(entry).into());
        let similar = similar_queries(&run, 0.5);
        assert_eq!((similar.training.len(), similar.test.len(), similar.compared), (2, 2, 3));
        let queries = ["a", "b", "c", "d"].map(|id| Query { id: id.into(), ..Query::default() });
        let left: Vec<String> = similar.without(&queries).into_iter().map(|query| query.id).collect();
        assert_eq!(left, ["b", "d"]);
    }
}
