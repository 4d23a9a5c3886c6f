//! Mining negatives for training: hits of any searcher or run, judgments, and the collection's texts.

use std::collections::{HashMap, HashSet};

use toller_corpus::{CollectionFormat, CorpusError, ReadOptions, SkipReport, open_collection};
use toller_files::Input;
use toller_ir::{Passage, Qrels};
use toller_mining::{Selection, TextKey};

/// A query's hits, best first: identifiers and scores.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryHits {
    /// The query.
    pub query_id: String,
    /// The hits.
    pub hits: Vec<(String, f64)>,
}

/// What was chosen for a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen<'a> {
    /// The query's relevant documents, in the order of the judgments.
    pub positives: Vec<&'a str>,
    /// The places of the negatives among the query's hits, from 0.
    pub negatives: Vec<usize>,
}

/// The documents of a query that have at least this grade.
pub fn positives<'a>(qrels: &'a Qrels, query_id: &str, level: i32) -> Vec<&'a str> {
    let judged = qrels.query(query_id).into_iter().flatten();
    judged.filter(|(_, grade)| **grade >= level).map(|(id, _)| id.as_str()).collect()
}

/// Chooses negatives for a query: never a positive, and none that has the text of one, as far as `texts`
/// knows.
#[must_use]
pub fn choose_negatives<'a>(
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
