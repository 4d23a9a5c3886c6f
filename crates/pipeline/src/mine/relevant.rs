//! Which documents of a query are positives.

use std::collections::HashMap;

use toller_ir::Qrels;

use super::{MineJob, QueryHits};

/// The documents of a query that are relevant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Relevant<'a> {
    /// All of them: none is ever a negative.
    pub(super) all: Vec<&'a str>,
    /// Those that are taken for positives, in the order of the judgments, then by rank.
    pub(super) positives: Vec<&'a str>,
    /// Those that a reranker has not scored, so that they are not positives.
    pub(super) unscored: Vec<&'a str>,
}

impl<'a> Relevant<'a> {
    /// Of a query: what is judged relevant, and what a reranker is sure of.
    pub(super) fn of(job: &MineJob<'a>, query: &'a QueryHits) -> Self {
        let mut all = positives(job.qrels, &query.query_id, job.relevance_level);
        let (mut kept, mut unscored) = (all.clone(), Vec::new());
        if let Some(scored) = job.scored {
            let score = |id: &str| scored.scores.get(&query.query_id, id);
            let judged = job.qrels.query(&query.query_id);
            let is_new = |id: &&str| {
                judged.is_none_or(|judged| !judged.contains_key(*id))
                    && score(id).is_some_and(|score| scored.rule.is_new_positive(score))
            };
            all.extend(query.hits.iter().map(|hit| hit.id.as_str()).filter(is_new));
            unscored = all.iter().copied().filter(|id| score(id).is_none()).collect();
            let is_kept = |id: &&str| score(id).is_some_and(|score| scored.rule.keeps_positive(score));
            kept = all.iter().copied().filter(is_kept).collect();
        }
        Self { all, positives: kept, unscored }
    }

    /// The positives; if there are more than `most`, those with the best ranks.
    pub(super) fn into_best(self, query: &QueryHits, most: Option<usize>) -> Vec<&'a str> {
        let mut best = self.positives;
        if let Some(most) = most.filter(|most| *most < best.len()) {
            let ranks: HashMap<&str, usize> =
                query.hits.iter().map(|hit| (hit.id.as_str(), hit.rank)).collect();
            best.sort_by_key(|id| ranks.get(*id).copied().unwrap_or(usize::MAX));
            best.truncate(most);
        }
        best
    }
}

/// The documents of a query that have at least this grade.
pub fn positives<'a>(qrels: &'a Qrels, query_id: &str, level: i32) -> Vec<&'a str> {
    let judged = qrels.query(query_id).into_iter().flatten();
    judged.filter(|(_, grade)| **grade >= level).map(|(id, _)| id.as_str()).collect()
}
