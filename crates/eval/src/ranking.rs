//! One query's ranking as the measures see it: the judgment of each retrieved document, best first.

use std::cmp::Ordering;
use std::collections::HashSet;

use indexmap::IndexMap;
use toller_ir::RunEntry;
use xxhash_rust::xxh3::xxh3_64;

/// What the qrels say about a retrieved document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgment {
    /// Judged, with this grade.
    Grade(u32),
    /// In the qrels with a negative grade: in the pool but not assessed. Never relevant.
    Negative,
    /// Not in the qrels.
    Absent,
}

impl Judgment {
    /// Whether the document was judged with a grade of at least `level`.
    pub(crate) fn is_relevant(self, level: u32) -> bool {
        matches!(self, Self::Grade(grade) if grade >= level)
    }
}

impl From<i32> for Judgment {
    fn from(grade: i32) -> Self {
        u32::try_from(grade).map_or(Self::Negative, Self::Grade)
    }
}

/// The ranking of one query.
#[derive(Clone, Debug)]
pub(crate) struct JudgedRanking {
    /// Of each retrieved document, best first.
    pub(crate) judgments: Vec<Judgment>,
    /// The grades of all judged documents of the query, retrieved or not, highest first, without the
    /// negative ones.
    pub(crate) grades: Vec<u32>,
    /// The score of each retrieved document, best first; empty where scores are not known.
    scores: Vec<f64>,
}

/// Why a ranking cannot be formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadRanking {
    /// A document was retrieved twice.
    Duplicate(String),
    /// A document's score is not a number.
    NotANumber(String),
}

impl JudgedRanking {
    /// Orders `entries` by score descending, then document id descending (by bytes), cuts them at
    /// `depth`, and looks up each judgment in `qrels`.
    pub(crate) fn new(
        qrels: &IndexMap<String, i32>,
        entries: &[RunEntry],
        depth: Option<usize>,
    ) -> Result<Self, BadRanking> {
        let mut ranked = ranked(entries)?;
        ranked.truncate(depth.unwrap_or(usize::MAX));
        let judgments = ranked
            .iter()
            .map(|entry| qrels.get(&entry.doc_id).map_or(Judgment::Absent, |grade| Judgment::from(*grade)))
            .collect();
        let scores = ranked.iter().map(|entry| entry.score).collect();
        Ok(Self { scores, ..Self::of_judgments(judgments, qrels) })
    }

    /// With the judgments of the retrieved documents, best first.
    pub(crate) fn of_judgments(judgments: Vec<Judgment>, qrels: &IndexMap<String, i32>) -> Self {
        let mut grades: Vec<u32> = qrels.values().filter_map(|grade| u32::try_from(*grade).ok()).collect();
        grades.sort_unstable_by(|a, b| b.cmp(a));
        Self { judgments, grades, scores: Vec::new() }
    }

    /// Another ranking of the same query, with the judgments of its documents, best first.
    pub(crate) fn reranked(&self, judgments: Vec<Judgment>) -> Self {
        Self { judgments, grades: self.grades.clone(), scores: Vec::new() }
    }

    /// The same ranking without the documents that have no grade.
    pub(crate) fn judged_only(&self) -> Self {
        let graded = |judgment: &Judgment| matches!(judgment, Judgment::Grade(_));
        let scores = self.judgments.iter().zip(&self.scores).filter(|(judgment, _)| graded(judgment));
        Self {
            judgments: self.judgments.iter().copied().filter(graded).collect(),
            grades: self.grades.clone(),
            scores: scores.map(|(_, score)| *score).collect(),
        }
    }

    /// How many documents were retrieved.
    pub(crate) fn retrieved(&self) -> usize {
        self.judgments.len()
    }

    /// The first `cutoff` judgments, or all where there is no cutoff.
    pub(crate) fn top(&self, cutoff: Option<u32>) -> &[Judgment] {
        let cutoff = cutoff.map_or(usize::MAX, |cutoff| cutoff as usize);
        &self.judgments[..cutoff.min(self.judgments.len())]
    }

    /// How many of the first `cutoff` documents are relevant.
    pub(crate) fn relevant_in_top(&self, cutoff: Option<u32>, level: u32) -> usize {
        self.top(cutoff).iter().filter(|judgment| judgment.is_relevant(level)).count()
    }

    /// How many documents of the collection are judged relevant.
    pub(crate) fn relevant(&self, level: u32) -> usize {
        self.grades.partition_point(|grade| *grade >= level)
    }

    /// How many documents of the collection are judged non-relevant.
    pub(crate) fn nonrelevant(&self, level: u32) -> usize {
        self.grades.len() - self.relevant(level)
    }

    /// The rank, from 1, of each relevant document among the first `cutoff`, ascending.
    pub(crate) fn relevant_ranks(&self, cutoff: Option<u32>, level: u32) -> impl Iterator<Item = usize> {
        self.top(cutoff)
            .iter()
            .enumerate()
            .filter(move |(_, judgment)| judgment.is_relevant(level))
            .map(|(index, _)| index + 1)
    }

    /// The mean of the ranks of the documents that have the score of the document at `rank`, from 1.
    pub(crate) fn average_rank(&self, rank: usize) -> f64 {
        let Some(score) = self.scores.get(rank - 1) else { return rank as f64 };
        let above = self.scores.partition_point(|other| other > score);
        let reached = self.scores.partition_point(|other| other >= score);
        (above + 1 + reached) as f64 / 2.0
    }
}

/// `entries` in the order of evaluation: by score descending, then document id descending (by bytes).
pub(crate) fn ranked(entries: &[RunEntry]) -> Result<Vec<&RunEntry>, BadRanking> {
    if may_be_bad(entries) {
        check(entries)?;
    }
    let mut ranked: Vec<&RunEntry> = entries.iter().collect();
    ranked.sort_unstable_by(|a, b| by_score_then_id(a, b));
    Ok(ranked)
}

/// Whether a score is not a number, or two identifiers have the same hash. This takes less time than a set of
/// the identifiers.
fn may_be_bad(entries: &[RunEntry]) -> bool {
    let mut hashes: Vec<u64> = entries.iter().map(|entry| xxh3_64(entry.doc_id.as_bytes())).collect();
    hashes.sort_unstable();
    hashes.windows(2).any(|pair| pair[0] == pair[1]) || entries.iter().any(|entry| entry.score.is_nan())
}

/// The first entry that is bad is the error.
fn check(entries: &[RunEntry]) -> Result<(), BadRanking> {
    let mut seen = HashSet::with_capacity(entries.len());
    for entry in entries {
        if entry.score.is_nan() {
            return Err(BadRanking::NotANumber(entry.doc_id.clone()));
        }
        if !seen.insert(entry.doc_id.as_str()) {
            return Err(BadRanking::Duplicate(entry.doc_id.clone()));
        }
    }
    Ok(())
}

/// trec_eval's order: score descending, ties by document id descending. Scores are compared as f64.
fn by_score_then_id(a: &RunEntry, b: &RunEntry) -> Ordering {
    let by_score = b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal);
    by_score.then_with(|| b.doc_id.cmp(&a.doc_id))
}
