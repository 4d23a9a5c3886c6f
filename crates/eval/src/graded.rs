//! A run's rankings with the grades of their documents, for analyses that need more than measures.

use std::num::NonZeroUsize;

use indexmap::IndexMap;
use rayon::prelude::*;
use toller_ir::{Qrels, Run, RunEntry, is_relevant};

use crate::error::EvalError;
use crate::evaluate::{EvalOptions, MissingQueries, bad_ranking, check_common_queries};
use crate::ranking::ranked;

/// The ranking of a judged query.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedRanking<'a> {
    /// The query.
    pub query_id: &'a str,
    /// What was retrieved, the best first, in the order in which measures count.
    pub documents: Vec<GradedDocument<'a>>,
}

/// A retrieved document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradedDocument<'a> {
    /// The document.
    pub doc_id: &'a str,
    /// Its score.
    pub score: f64,
    /// Its grade, if the document is judged.
    pub grade: Option<i32>,
}

impl GradedRanking<'_> {
    /// The grades, the best document first.
    pub fn grades(&self) -> impl Iterator<Item = Option<i32>> + Clone {
        self.documents.iter().map(|document| document.grade)
    }

    /// The rank, from 1, of the first document with at least this grade.
    #[must_use]
    pub fn first_relevant(&self, level: u32) -> Option<usize> {
        let is_relevant = |grade: Option<i32>| grade.is_some_and(|grade| is_relevant(grade, level));
        self.grades().position(is_relevant).map(|place| place + 1)
    }
}

/// The rankings of the judged queries, in the order of [`Evaluation::per_query`](crate::Evaluation), one at a
/// time.
///
/// # Errors
/// As [`evaluate`](crate::evaluate).
pub fn graded_rankings<'a>(
    qrels: &'a Qrels,
    run: &'a Run,
    options: &EvalOptions,
) -> Result<impl Iterator<Item = Result<GradedRanking<'a>, EvalError>>, EvalError> {
    let options = *options;
    let queries = counted_queries(qrels, run, &options)?;
    Ok(queries.into_iter().map(move |query| graded_ranking(query, run, &options)))
}

/// What `work` makes of each of [`graded_rankings`] and the query's judgments, in their order, on all
/// threads.
///
/// # Errors
/// As [`evaluate`](crate::evaluate), or those of `work`.
pub fn map_graded_rankings<T: Send>(
    qrels: &Qrels,
    run: &Run,
    options: &EvalOptions,
    work: impl Fn(GradedRanking<'_>, &IndexMap<String, i32>) -> Result<T, EvalError> + Sync,
) -> Result<Vec<T>, EvalError> {
    let queries = counted_queries(qrels, run, options)?;
    let done: Vec<_> =
        queries.par_iter().map(|query| work(graded_ranking(*query, run, options)?, query.1)).collect();
    // One after the other, so that the error is the first query's.
    done.into_iter().collect()
}

/// A query with its judgments.
type JudgedQuery<'a> = (&'a str, &'a IndexMap<String, i32>);

/// The judged queries that count, in the order of the bytes of their identifiers.
fn counted_queries<'a>(
    qrels: &'a Qrels,
    run: &Run,
    options: &EvalOptions,
) -> Result<Vec<JudgedQuery<'a>>, EvalError> {
    check_common_queries(qrels, run)?;
    let skip = options.missing == MissingQueries::Skip;
    let mut queries: Vec<_> = qrels.iter().filter(|(id, _)| !skip || run.queries.contains_key(*id)).collect();
    queries.sort_unstable_by_key(|(query_id, _)| *query_id);
    Ok(queries)
}

fn graded_ranking<'a>(
    (query_id, judgments): JudgedQuery<'a>,
    run: &'a Run,
    options: &EvalOptions,
) -> Result<GradedRanking<'a>, EvalError> {
    let entries = run.queries.get(query_id).map_or(&[][..], Vec::as_slice);
    let depth = options.depth.map_or(usize::MAX, NonZeroUsize::get);
    let graded = ranked_documents(query_id, entries)?.into_iter().take(depth).map(|entry| GradedDocument {
        doc_id: &entry.doc_id,
        score: entry.score,
        grade: judgments.get(&entry.doc_id).copied(),
    });
    Ok(GradedRanking { query_id, documents: graded.collect() })
}

/// The documents of a query in the order in which measures count: by score descending, then document id
/// descending.
///
/// # Errors
/// If a document is listed twice or a score is not a number.
pub fn ranked_documents<'a>(query_id: &str, entries: &'a [RunEntry]) -> Result<Vec<&'a RunEntry>, EvalError> {
    ranked(entries).map_err(|bad| bad_ranking(query_id, bad))
}

#[cfg(test)]
mod tests {
    use toller_ir::{Qrels, Run, RunEntry};

    use super::{EvalOptions, graded_rankings};
    use crate::MissingQueries;

    #[test]
    fn rankings_are_in_the_order_of_the_measures() -> Result<(), crate::EvalError> {
        let mut qrels = Qrels::new();
        for (query, document, grade) in [("q2", "a", 2), ("q1", "b", 0), ("q1", "c", 1), ("q3", "a", 1)] {
            qrels.insert(query, document, grade);
        }
        let mut run = Run::default();
        let entry = |doc_id: &str, score| RunEntry { doc_id: doc_id.into(), score };
        // A tie: the larger identifier comes first.
        run.queries.insert("q1".into(), vec![entry("a", 1.0), entry("b", 2.0), entry("c", 2.0)]);
        run.queries.insert("q2".into(), vec![entry("x", 1.0)]);
        let all: Vec<_> =
            graded_rankings(&qrels, &run, &EvalOptions::default())?.collect::<Result<_, _>>()?;
        assert_eq!(all.iter().map(|ranking| ranking.query_id).collect::<Vec<_>>(), ["q1", "q2", "q3"]);
        assert_eq!(all[0].grades().collect::<Vec<_>>(), [Some(1), Some(0), None]);
        assert_eq!(all[0].documents[0].doc_id, "c");
        assert_eq!((all[0].first_relevant(1), all[0].first_relevant(2)), (Some(1), None));
        assert!(all[2].documents.is_empty());
        let options = EvalOptions { missing: MissingQueries::Skip, ..EvalOptions::default() };
        assert_eq!(graded_rankings(&qrels, &run, &options)?.count(), 2);
        Ok(())
    }
}
