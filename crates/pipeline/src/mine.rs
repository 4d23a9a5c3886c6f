//! Mining negatives for training: hits of any searcher or run, judgments, and the collection's texts.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use toller_corpus::{CollectionFormat, CorpusError, ReadOptions, SkipReport, open_collection};
use toller_files::Input;
use toller_ir::{Passage, Qrels, Run, RunEntry};
use toller_mining::{Format, Mined, Negative, Positive, Selection, TextKey};

/// A query's hits, best first: identifiers and scores.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryHits {
    /// The query.
    pub query_id: String,
    /// The hits.
    pub hits: Vec<(String, f64)>,
}

impl QueryHits {
    /// The best `depth` hits of each query of a run.
    pub fn of_run(run: Run, depth: usize) -> Vec<Self> {
        let query = |(query_id, mut entries): (String, Vec<RunEntry>)| {
            entries.sort_by(RunEntry::best_first);
            entries.truncate(depth);
            Self { query_id, hits: entries.into_iter().map(|entry| (entry.doc_id, entry.score)).collect() }
        };
        run.queries.into_iter().map(query).collect()
    }
}

/// What negatives are taken from, and which.
#[derive(Clone, Copy, Debug)]
pub struct MineJob<'a> {
    /// The hits of the queries, as deep as negatives are taken from.
    pub hits: &'a [QueryHits],
    /// Which documents are relevant.
    pub qrels: &'a Qrels,
    /// The lowest grade that is relevant.
    pub relevance_level: i32,
    /// Which of the other documents are taken.
    pub selection: &'a Selection,
    /// How they are written.
    pub format: Format,
    /// The texts of queries by identifier, as far as they are known.
    pub queries: &'a HashMap<String, String>,
    /// The collection. With it, copies of relevant documents are no negatives, and passages have texts.
    pub collection: Option<(&'a [Input], &'a ReadOptions<CollectionFormat>)>,
}

impl<'a> MineJob<'a> {
    /// Chooses the negatives of each query that has a relevant document. Reads the collection once, and once
    /// more if the format holds texts; not at all if there is no such query.
    ///
    /// # Errors
    /// What is wrong with the collection, and a collection that can be read only once.
    pub fn choose(&self) -> Result<Mining<'a>, CorpusError> {
        let inputs = self.collection.map_or(&[][..], |(inputs, _)| inputs);
        if let Some(once) = inputs.iter().find(|input| input.reads_once()) {
            return Err(CorpusError::Unsupported {
                file: once.to_string(),
                reason: "it can be read only once, and mining reads the collection twice",
                remedy: "save it as a file first",
            });
        }
        let of = |query: &'a QueryHits| positives(self.qrels, &query.query_id, self.relevance_level);
        let judged: Vec<_> =
            self.hits.iter().map(|query| (query, of(query))).filter(|(_, found)| !found.is_empty()).collect();
        if judged.is_empty() {
            let (chosen, passages) = (Vec::new(), HashMap::new());
            return Ok(Mining {
                job: *self,
                chosen,
                passages,
                missing: None,
                skipped: SkipReport::default(),
            });
        }
        let relevant = || judged.iter().flat_map(|(_, positives)| positives.iter().copied());
        let retrieved = judged.iter().flat_map(|(query, _)| query.hits.iter().map(|(id, _)| id.as_str()));
        let wanted = relevant().chain(retrieved).collect();
        let (texts, skipped) = self.documents(&wanted, |passage| TextKey::of(&passage.text))?;
        let mut missing =
            relevant().filter(|id| self.collection.is_some() && !texts.contains_key(*id)).peekable();
        let missing = missing.peek().map(|first| (*first).to_owned()).map(|first| (missing.count(), first));
        let choose = |(query, positives)| (query, choose_negatives(self.selection, query, positives, &texts));
        let chosen: Vec<(&QueryHits, Chosen<'a>)> = judged.into_iter().map(choose).collect();
        let mut passages = HashMap::new();
        if self.format.holds_texts() {
            let mut wanted = HashSet::new();
            for (query, chosen) in &chosen {
                let negatives = chosen.negatives.iter().filter_map(|place| query.hits.get(*place));
                wanted.extend(negatives.map(|(id, _)| id.as_str()));
                wanted.extend(chosen.positives.iter().copied());
            }
            (passages, _) = self.documents(&wanted, |passage| passage)?;
        }
        Ok(Mining { job: *self, chosen, passages, missing, skipped })
    }

    fn documents<T>(
        &self,
        wanted: &HashSet<&str>,
        keep: impl Fn(Passage) -> T,
    ) -> Result<(HashMap<String, T>, SkipReport), CorpusError> {
        match self.collection {
            Some((inputs, options)) => wanted_passages(inputs, options, wanted, keep),
            None => Ok((HashMap::new(), SkipReport::default())),
        }
    }
}

/// The negatives of all queries.
#[derive(Debug)]
pub struct Mining<'a> {
    job: MineJob<'a>,
    chosen: Vec<(&'a QueryHits, Chosen<'a>)>,
    /// The passages whose texts are written.
    passages: HashMap<String, Passage>,
    /// The number of relevant documents that are not in the collection, and the first.
    pub missing: Option<(usize, String)>,
    /// The bad records of the collection that were skipped.
    pub skipped: SkipReport,
}

impl Mining<'_> {
    /// The number of queries that have a relevant document.
    #[must_use]
    pub fn queries(&self) -> usize {
        self.chosen.len()
    }

    /// The number of queries without a relevant document, which are left out.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.job.hits.len() - self.chosen.len()
    }

    /// The number of queries that have fewer negatives than wanted.
    #[must_use]
    pub fn short(&self) -> usize {
        self.chosen.iter().filter(|(_, chosen)| chosen.negatives.len() < self.job.selection.count).count()
    }

    /// The number of negatives.
    #[must_use]
    pub fn negatives(&self) -> usize {
        self.chosen.iter().map(|(_, chosen)| chosen.negatives.len()).sum()
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
        let positive = |id: &&'r str| Positive { id, passage: self.passages.get(*id) };
        let negative = |place: &usize| {
            let (id, score) = query.hits.get(*place)?;
            Some(Negative { id, rank: place + 1, score: *score, passage: self.passages.get(id) })
        };
        Mined {
            query_id: &query.query_id,
            query: self.job.queries.get(&query.query_id).map(String::as_str),
            positives: chosen.positives.iter().map(positive).collect(),
            negatives: chosen.negatives.iter().filter_map(negative).collect(),
        }
    }
}

/// What was chosen for a query.
#[derive(Debug)]
struct Chosen<'a> {
    /// The query's relevant documents, in the order of the judgments.
    positives: Vec<&'a str>,
    /// The places of the negatives among the query's hits, from 0.
    negatives: Vec<usize>,
}

/// The documents of a query that have at least this grade.
pub fn positives<'a>(qrels: &'a Qrels, query_id: &str, level: i32) -> Vec<&'a str> {
    let judged = qrels.query(query_id).into_iter().flatten();
    judged.filter(|(_, grade)| **grade >= level).map(|(id, _)| id.as_str()).collect()
}

/// Chooses negatives for a query: never a positive, and none that has the text of one, as far as `texts`
/// knows.
fn choose_negatives<'a>(
    selection: &Selection,
    query: &QueryHits,
    positives: Vec<&'a str>,
    texts: &HashMap<String, TextKey>,
) -> Chosen<'a> {
    let ids: HashSet<&str> = positives.iter().copied().collect();
    let keys: HashSet<TextKey> = positives.iter().filter_map(|id| texts.get(*id)).copied().collect();
    let is_positive = |id: &str| ids.contains(id) || texts.get(id).is_some_and(|key| keys.contains(key));
    let ranking = query.hits.iter().map(|(id, _)| id.as_str());
    let negatives = selection.choose(&query.query_id, ranking, is_positive);
    Chosen { positives, negatives }
}

/// Reads a collection for the passages with these identifiers, and keeps what `keep` makes of each. Returns
/// the bad records that were skipped, too.
///
/// # Errors
/// What [`open_collection`] and its reader find.
pub fn wanted_passages<T>(
    collection: &[Input],
    options: &ReadOptions<CollectionFormat>,
    wanted: &HashSet<&str>,
    keep: impl Fn(Passage) -> T,
) -> Result<(HashMap<String, T>, SkipReport), CorpusError> {
    let mut kept = HashMap::with_capacity(wanted.len());
    let mut passages = open_collection(collection, options)?;
    while let Some(passage) = passages.next().transpose()? {
        if wanted.contains(passage.id.as_str()) {
            kept.entry(passage.id.clone()).or_insert_with(|| keep(passage));
        }
    }
    Ok((kept, passages.skipped().clone()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use toller_ir::Qrels;
    use toller_mining::{Choice, Selection, TextKey};

    use super::{QueryHits, choose_negatives, positives};

    #[test]
    fn what_is_relevant_or_has_its_text_is_no_negative() {
        let mut qrels = Qrels::new();
        for (doc, grade) in [("good", 2), ("fair", 1), ("bad", 0), ("worse", -1)] {
            qrels.insert("q", doc, grade);
        }
        assert_eq!(positives(&qrels, "q", 1), ["good", "fair"]);
        assert_eq!(positives(&qrels, "q", 2), ["good"]);
        assert_eq!(positives(&qrels, "other", 1), [""; 0]);

        let hits = ["copy", "good", "bad", "fair", "worse", "new"].map(|id| (id.to_owned(), 1.0));
        let query = QueryHits { query_id: "q".to_owned(), hits: hits.to_vec() };
        let selection = Selection { ranks: 1..=6, count: 9, choice: Choice::Top };
        let mut texts = HashMap::new();
        let negatives = |texts: &HashMap<String, TextKey>, level| {
            choose_negatives(&selection, &query, positives(&qrels, "q", level), texts).negatives
        };
        assert_eq!(negatives(&texts, 1), [0, 2, 4, 5]);
        assert_eq!(negatives(&texts, 2), [0, 2, 3, 4, 5]);
        for (id, text) in
            [("copy", "the  text"), ("good", "the text "), ("bad", "another"), ("new", "the text")]
        {
            texts.insert(id.to_owned(), TextKey::of(text));
        }
        assert_eq!(negatives(&texts, 1), [2, 4]);
    }
}
