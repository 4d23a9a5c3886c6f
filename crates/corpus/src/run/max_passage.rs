//! Runs of documents, made of passages.

use std::collections::HashSet;

/// How hits that are passages become hits that are documents: each document has the score of its best passage
/// (MaxP; Dai and Callan 2019).
///
/// As in Anserini, a document's identifier is that of its passages up to the first delimiter. An identifier
/// without one is that of a document of one passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaxPassage {
    /// What separates the document's identifier from the rest; not empty.
    pub delimiter: String,
    /// Documents of each query that are kept.
    pub hits: usize,
}

impl MaxPassage {
    /// The identifier of the document that has the passage.
    #[must_use]
    pub fn document<'a>(&self, passage: &'a str) -> &'a str {
        passage.split_once(&self.delimiter).map_or(passage, |(document, _)| document)
    }

    /// The documents of a query's passages. Passages come best first, and so do documents.
    pub fn documents<D: AsRef<str>, S>(
        &self,
        passages: impl IntoIterator<Item = (D, S)>,
    ) -> impl Iterator<Item = (String, S)> {
        let mut seen = HashSet::new();
        let documents = passages.into_iter().filter_map(move |(passage, score)| {
            let document = self.document(passage.as_ref()).to_owned();
            seen.insert(document.clone()).then_some((document, score))
        });
        documents.take(self.hits)
    }
}
