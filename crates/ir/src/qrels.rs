//! Relevance judgments.

use indexmap::IndexMap;

/// Relevance judgments: for each query, a grade for each judged document.
///
/// A grade above zero is relevant (measures may set a higher level); zero and below is judged
/// non-relevant, as trec_eval counts it. Queries and documents keep the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qrels {
    judgments: IndexMap<String, IndexMap<String, i32>>,
}

/// Whether a grade counts as relevant if `level` is the lowest that does.
#[must_use]
pub fn is_relevant(grade: i32, level: u32) -> bool {
    u32::try_from(grade).is_ok_and(|grade| grade >= level)
}

impl Qrels {
    /// No judgments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a judgment. Returns the earlier grade if this pair was judged before, and then leaves
    /// that one in place.
    pub fn insert(&mut self, query_id: &str, doc_id: &str, grade: i32) -> Option<i32> {
        if !self.judgments.contains_key(query_id) {
            self.judgments.insert(query_id.to_owned(), IndexMap::new());
        }
        let docs = self.judgments.get_mut(query_id)?;
        if let Some(earlier) = docs.get(doc_id) {
            return Some(*earlier);
        }
        docs.insert(doc_id.to_owned(), grade);
        None
    }

    /// The judged documents of a query, with their grades, or `None` if the query has none.
    #[must_use]
    pub fn query(&self, query_id: &str) -> Option<&IndexMap<String, i32>> {
        self.judgments.get(query_id)
    }

    /// Every query with its judged documents, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &IndexMap<String, i32>)> {
        self.judgments.iter().map(|(id, docs)| (id.as_str(), docs))
    }

    /// The number of queries that have judgments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.judgments.len()
    }

    /// Whether there are no judgments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.judgments.is_empty()
    }
}
