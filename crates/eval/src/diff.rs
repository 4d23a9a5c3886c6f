//! Where two runs differ on a query: the documents that make the difference.

use std::collections::HashMap;

use toller_ir::{Qrels, Run, is_relevant};

use crate::error::EvalError;
use crate::evaluate::bad_ranking;
use crate::ranking::ranked;

/// A query's values in two runs, and what was retrieved.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryDifference {
    /// The query.
    pub query_id: String,
    /// The measure in the first run and in the second.
    pub values: [f64; 2],
    /// The first documents of each run.
    pub rankings: [Vec<RankedDocument>; 2],
    /// The relevant documents, highest grade first, then in the order of the judgments.
    pub relevant: Vec<RelevantDocument>,
}

/// A retrieved document.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedDocument {
    /// The document.
    pub doc_id: String,
    /// Its score.
    pub score: f64,
    /// Its grade, if it is judged.
    pub grade: Option<i32>,
    /// Its rank in the other run, from 1.
    pub other_rank: Option<usize>,
}

/// A document judged relevant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelevantDocument {
    /// The document.
    pub doc_id: String,
    /// Its grade.
    pub grade: i32,
    /// Its rank in each run, from 1.
    pub ranks: [Option<usize>; 2],
}

impl QueryDifference {
    /// What the second run gains; below zero, what it loses.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.values[1] - self.values[0]
    }
}

/// What two runs retrieved for a query on which they have these values. Documents of at least the grade
/// `level` are relevant. The first `shown` documents of each ranking are kept.
///
/// # Errors
/// If a document is listed twice or a score is not a number.
pub fn query_difference(
    qrels: &Qrels,
    runs: [&Run; 2],
    query_id: &str,
    values: [f64; 2],
    level: u32,
    shown: usize,
) -> Result<QueryDifference, EvalError> {
    let entries = runs.map(|run| run.queries.get(query_id).map_or(&[][..], Vec::as_slice));
    let order = |at: usize| ranked(entries[at]).map_err(|bad| bad_ranking(query_id, bad));
    let ranked = [order(0)?, order(1)?];
    let ranks = [0, 1].map(|at: usize| -> HashMap<&str, usize> {
        ranked[at].iter().zip(1..).map(|(entry, rank)| (entry.doc_id.as_str(), rank)).collect()
    });
    let grade_of = |doc_id: &str| qrels.query(query_id).and_then(|judged| judged.get(doc_id)).copied();
    let rankings = [0, 1].map(|at: usize| {
        let documents = ranked[at].iter().take(shown).map(|entry| RankedDocument {
            doc_id: entry.doc_id.clone(),
            score: entry.score,
            grade: grade_of(&entry.doc_id),
            other_rank: ranks[1 - at].get(entry.doc_id.as_str()).copied(),
        });
        documents.collect()
    });
    let judged = qrels.query(query_id).into_iter().flatten().filter(|(_, grade)| is_relevant(**grade, level));
    let mut relevant: Vec<RelevantDocument> = judged
        .map(|(doc_id, grade)| RelevantDocument {
            doc_id: doc_id.clone(),
            grade: *grade,
            ranks: [0, 1].map(|at: usize| ranks[at].get(doc_id.as_str()).copied()),
        })
        .collect();
    relevant.sort_by_key(|document| std::cmp::Reverse(document.grade));
    Ok(QueryDifference { query_id: query_id.to_owned(), values, rankings, relevant })
}
