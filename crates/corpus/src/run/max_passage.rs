//! Runs of documents, made of passages.

use std::collections::HashSet;

/// How hits that are passages become hits that are documents: each document has the score of its best passage
/// (MaxP; Dai and Callan 2019).
///
/// As in Anserini, a document's identifier is that of its passages up to the first delimiter. An identifier
/// without one, or with nothing before it, is that of a document of one passage.
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
        // A run can hold no identifier that is empty or ends with white space.
        let document = passage.split_once(&self.delimiter).map(|(document, _)| document.trim_end());
        document.filter(|document| !document.is_empty()).unwrap_or(passage)
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

#[cfg(test)]
mod tests {
    use super::MaxPassage;

    #[test]
    fn documents_have_identifiers_that_a_run_can_hold() {
        let max_passage = MaxPassage { delimiter: "#".to_owned(), hits: 3 };
        let document = |passage| max_passage.document(passage);
        assert_eq!(document("d1#2"), "d1");
        assert_eq!(document("d1#2#3"), "d1");
        assert_eq!(document("d1"), "d1");
        assert_eq!(document("d 1 #2"), "d 1");
        assert_eq!(document("#2"), "#2");
        let passages = [("a#1", 5), ("a#0", 4), ("b", 3), ("#1", 2), ("c#1", 1)];
        let documents: Vec<_> = max_passage.documents(passages).collect();
        assert_eq!(documents, [("a".to_owned(), 5), ("b".to_owned(), 3), ("#1".to_owned(), 2)]);
    }
}
