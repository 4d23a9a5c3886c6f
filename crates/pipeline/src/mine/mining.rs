//! What was mined, and writing it.

use std::collections::HashMap;
use std::io::{self, Write};

use toller_corpus::SkipReport;
use toller_ir::{Passage, counted};
use toller_mining::{Count, Mined, Negative, Positive};

use super::{MineJob, QueryHits};

/// The negatives of all queries.
#[derive(Debug)]
pub struct Mining<'a> {
    pub(super) job: MineJob<'a>,
    pub(super) chosen: Vec<(&'a QueryHits, Chosen<'a>)>,
    /// The passages whose texts are written.
    pub(super) passages: HashMap<String, Passage>,
    /// The number of relevant documents that are not in the collection, and the first. They are not
    /// positives where texts are written.
    pub missing: Option<(usize, String)>,
    /// The number of hits that are not in the collection, so that they are not negatives where texts are
    /// written, and the first.
    pub hits_without_text: Option<(usize, String)>,
    /// The number of queries with a positive that have no text, so that they are left out where texts are
    /// written, and the first.
    pub queries_without_text: Option<(usize, String)>,
    /// The number of hits that the reranker has not scored, so that they are not negatives, and the first.
    pub unscored: Option<(usize, String)>,
    /// The number of relevant documents that it has not scored, so that they are not positives, and the
    /// first.
    pub unscored_positives: Option<(usize, String)>,
    /// The bad records of the collection that were skipped.
    pub skipped: SkipReport,
}

/// What was chosen for a query.
#[derive(Debug)]
pub(super) struct Chosen<'a> {
    /// The query's positives.
    pub(super) positives: Vec<&'a str>,
    /// The places of the negatives among the query's hits, from 0.
    pub(super) negatives: Vec<usize>,
}

impl Mining<'_> {
    /// The number of queries that are written: they have a positive.
    #[must_use]
    pub fn queries(&self) -> usize {
        self.chosen.len()
    }

    /// The number of queries that are left out, without a positive or a text.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.job.hits.len() - self.chosen.len()
    }

    /// The number of queries that have fewer negatives than wanted.
    #[must_use]
    pub fn short(&self) -> usize {
        let wanted = |chosen: &Chosen<'_>| self.job.selection.count.with_positives(chosen.positives.len());
        self.chosen.iter().filter(|(_, chosen)| chosen.negatives.len() < wanted(chosen)).count()
    }

    /// The number of queries that have a positive and no negative.
    #[must_use]
    pub fn without_negatives(&self) -> usize {
        self.chosen.iter().filter(|(_, chosen)| chosen.negatives.is_empty()).count()
    }

    /// The number of positives.
    #[must_use]
    pub fn positives(&self) -> usize {
        self.chosen.iter().map(|(_, chosen)| chosen.positives.len()).sum()
    }

    /// The number of negatives.
    #[must_use]
    pub fn negatives(&self) -> usize {
        self.chosen.iter().map(|(_, chosen)| chosen.negatives.len()).sum()
    }

    /// What is left out since it has no text, in words.
    pub fn left_out_without_text(&self) -> impl Iterator<Item = String> {
        let without = [("query", &self.queries_without_text), ("hit", &self.hits_without_text)];
        let problem = |(what, without): (&str, &Option<(usize, String)>)| {
            let (count, first) = without.as_ref()?;
            Some(format!("left out {} without a text, for example {first:?}", counted(*count, what)))
        };
        without.into_iter().filter_map(problem)
    }

    /// What is left out since the reranker has not scored it, in words. `scores` is the name of its runs.
    pub fn left_out_unscored(&self, scores: &str) -> impl Iterator<Item = String> {
        let unscored = [("hit", &self.unscored), ("relevant document", &self.unscored_positives)];
        let problem = move |(what, unscored): (&str, &Option<(usize, String)>)| {
            let (count, first) = unscored.as_ref()?;
            Some(format!(
                "left out {} without a score in {scores}, for example {first:?}",
                counted(*count, what)
            ))
        };
        unscored.into_iter().filter_map(problem)
    }

    /// Whether there is nothing to learn: no negative, and no new positive was asked for either.
    #[must_use]
    pub fn is_in_vain(&self) -> bool {
        let makes_positives = self.job.scored.is_some_and(|scored| scored.rule.new_positives.is_some());
        self.negatives() == 0 && !makes_positives
    }

    /// Writes the file.
    ///
    /// # Errors
    /// [`toller_mining::MissingText`], inside an [`io::Error`], if a necessary text is missing; and errors of
    /// `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let format = self.job.format;
        if let Some(header) = format.header() {
            writeln!(out, "{header}")?;
        }
        self.chosen.iter().try_for_each(|(query, chosen)| format.write(&self.record(query, chosen), out))?;
        out.flush()
    }

    fn record<'r>(&'r self, query: &'r QueryHits, chosen: &'r Chosen<'r>) -> Mined<'r> {
        let score = |id: &str| self.job.scored?.scores.get(&query.query_id, id);
        let positive = |id: &&'r str| Positive { id, score: score(id), passage: self.passages.get(*id) };
        let negative = |place: &usize| {
            let hit = query.hits.get(*place)?;
            let score = score(&hit.id).unwrap_or(hit.score);
            Some(Negative { id: &hit.id, rank: hit.rank, score, passage: self.passages.get(&hit.id) })
        };
        Mined {
            query_id: &query.query_id,
            query: self.job.queries.get(&query.query_id).map(String::as_str),
            positives: chosen.positives.iter().map(positive).collect(),
            negatives: chosen.negatives.iter().filter_map(negative).collect(),
            is_dealt: matches!(self.job.selection.count, Count::PerPositive(_)),
        }
    }
}
