//! A run's failures: queries without a relevant document among the first, and a random sample of them.

use toller_eval::{EvalOptions, GradedRanking, graded_rankings};
use toller_ir::{Qrels, Run, is_relevant};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::ReportError;
use crate::texts::Wanted;

/// The failed queries of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Failures {
    /// What the run is called.
    pub name: String,
    /// A query fails without a relevant document among this many.
    pub cutoff: usize,
    /// How many queries have relevant documents; others cannot fail.
    pub all: usize,
    /// How many fail.
    pub failed: usize,
    /// The lowest relevant grade.
    pub relevance_level: u32,
    /// Those that are shown, in the order of their identifiers.
    pub shown: Vec<FailedQuery>,
}

/// A failed query.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedQuery {
    /// The query.
    pub query_id: String,
    /// The first documents, up to the cutoff.
    pub documents: Vec<RetrievedDocument>,
    /// The relevant documents, with their ranks.
    pub relevant: Vec<RelevantRank>,
}

/// A retrieved document.
#[derive(Clone, Debug, PartialEq)]
pub struct RetrievedDocument {
    /// The document.
    pub doc_id: String,
    /// Its score.
    pub score: f64,
    /// Its grade, if it is judged.
    pub grade: Option<i32>,
}

/// A relevant document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelevantRank {
    /// The document.
    pub doc_id: String,
    /// Its grade.
    pub grade: i32,
    /// Its rank, from 1, if it was retrieved.
    pub rank: Option<usize>,
}

/// How many failures are shown, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How many queries; all if `None`.
    pub queries: Option<usize>,
    /// Another seed gives another sample. The sample does not depend on the order of files.
    pub seed: u64,
}

impl Failures {
    /// The failures of a run, as in the analysis of DuReader-retrieval (Qiu et al. 2022, table 10): 100 of
    /// the queries that fail at 5, with their first 5 documents, are 500 pairs.
    ///
    /// # Errors
    /// As [`evaluate`](toller_eval::evaluate), with the run's name.
    pub fn new(
        qrels: &Qrels,
        name: String,
        run: &Run,
        cutoff: usize,
        sample: Sample,
        options: &EvalOptions,
    ) -> Result<Self, ReportError> {
        let level = options.relevance_level;
        let of_run = ReportError::of_run(&name);
        let name = name.clone();
        let mut failures =
            Self { name, cutoff, all: 0, failed: 0, relevance_level: level, shown: Vec::new() };
        for ranking in graded_rankings(qrels, run, options).map_err(&of_run)? {
            let ranking = ranking.map_err(&of_run)?;
            let relevant = relevant(qrels, &ranking, level);
            if relevant.is_empty() {
                continue;
            }
            failures.all += 1;
            if ranking.first_relevant(level).is_none_or(|rank| rank > cutoff) {
                failures.failed += 1;
                failures.shown.push(failed(&ranking, relevant, cutoff));
            }
        }
        failures.shown.sort_by_cached_key(|query| xxh3_64_with_seed(query.query_id.as_bytes(), sample.seed));
        failures.shown.truncate(sample.queries.unwrap_or(usize::MAX));
        failures.shown.sort_by(|a, b| a.query_id.cmp(&b.query_id));
        Ok(failures)
    }

    /// Adds the identifiers of the texts that are shown.
    pub fn want<'a>(&'a self, wanted: &mut Wanted<'a>) {
        for query in &self.shown {
            wanted.queries.insert(&query.query_id);
            wanted.documents.extend(query.documents.iter().map(|document| document.doc_id.as_str()));
            wanted.documents.extend(query.relevant.iter().map(|document| document.doc_id.as_str()));
        }
    }
}

/// The relevant documents of a query, the highest grade first.
fn relevant(qrels: &Qrels, ranking: &GradedRanking<'_>, level: u32) -> Vec<RelevantRank> {
    let judged = qrels.query(ranking.query_id).into_iter().flatten();
    let mut relevant: Vec<RelevantRank> = judged
        .filter(|(_, grade)| is_relevant(**grade, level))
        .map(|(doc_id, grade)| {
            let place = ranking.documents.iter().position(|document| document.doc_id == doc_id);
            RelevantRank { doc_id: doc_id.clone(), grade: *grade, rank: place.map(|place| place + 1) }
        })
        .collect();
    relevant.sort_by_key(|document| std::cmp::Reverse(document.grade));
    relevant
}

fn failed(ranking: &GradedRanking<'_>, relevant: Vec<RelevantRank>, cutoff: usize) -> FailedQuery {
    let documents = ranking.documents.iter().take(cutoff).map(|document| RetrievedDocument {
        doc_id: document.doc_id.to_owned(),
        score: document.score,
        grade: document.grade,
    });
    FailedQuery { query_id: ranking.query_id.to_owned(), documents: documents.collect(), relevant }
}

#[cfg(test)]
mod tests {
    use toller_eval::EvalOptions;
    use toller_ir::{Qrels, Run, RunEntry};

    use super::{Failures, Sample};

    /// Queries q00 to q19: the relevant document of query n is at rank n + 1; q20 has none; q21 is not in the
    /// run.
    fn collection() -> (Qrels, Run) {
        let (mut qrels, mut run) = (Qrels::new(), Run::default());
        for query in 0..20 {
            let id = format!("q{query:02}");
            qrels.insert(&id, &format!("d{query:02}"), 1);
            qrels.insert(&id, "d30", 0);
            let entry = |at: u32| RunEntry { doc_id: format!("d{at:02}"), score: -f64::from(at) };
            run.queries.insert(id, (0..25).map(entry).collect());
        }
        qrels.insert("q20", "d00", 0);
        qrels.insert("q21", "d00", 1);
        (qrels, run)
    }

    fn failures(queries: Option<usize>, seed: u64) -> Failures {
        let (qrels, run) = collection();
        let sample = Sample { queries, seed };
        Failures::new(&qrels, "r".into(), &run, 5, sample, &EvalOptions::default()).unwrap()
    }

    #[test]
    fn what_fails_has_nothing_relevant_among_the_first() {
        let all = failures(None, 0);
        assert_eq!((all.all, all.failed, all.shown.len()), (21, 16, 16));
        let first = &all.shown[0];
        assert_eq!((&*first.query_id, first.documents.len()), ("q05", 5));
        assert_eq!((first.relevant[0].rank, first.relevant.len()), (Some(6), 1));
        let missing = &all.shown[15];
        assert_eq!((&*missing.query_id, missing.documents.len(), missing.relevant[0].rank), ("q21", 0, None));
    }

    #[test]
    fn samples_are_reproducible() {
        let ids = |failures: &Failures| {
            failures.shown.iter().map(|query| query.query_id.clone()).collect::<Vec<_>>()
        };
        let sample = failures(Some(4), 1);
        assert_eq!((sample.failed, sample.shown.len()), (16, 4));
        assert_eq!(ids(&sample), ids(&failures(Some(4), 1)));
        assert!((2..9).any(|seed| ids(&failures(Some(4), seed)) != ids(&sample)));
    }
}
