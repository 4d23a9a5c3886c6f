//! Why a document has its score.

use std::collections::HashMap;

use toller_ir::DocOrd;

use crate::index::SparseIndex;
use crate::score::TermStatistics;
use crate::{Scoring, SparseError, SparseQuery};

/// The score of a document for a query, term by term.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The document.
    pub doc: DocOrd,
    /// Its score: that of a search, to the bit.
    pub score: f32,
    /// The number of its terms, or the sum of their impacts, as the ranker sees it.
    pub length: u32,
    /// The query's terms that some document has, in the query's order.
    pub terms: Vec<TermScore>,
}

/// What a term adds to the score of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct TermScore {
    /// The term.
    pub term: String,
    /// Its weight in the query.
    pub weight: f32,
    /// Its documents and occurrences in the collection.
    pub statistics: TermStatistics,
    /// How often it occurs in the document.
    pub tf: u32,
    /// What it adds.
    pub score: f32,
}

impl SparseIndex {
    /// The scores of `docs`, one explanation a document, in their order. Reads all postings of the query's
    /// terms.
    ///
    /// # Errors
    /// Those of [`SparseIndex::check_scoring`], and when the index is damaged and was opened without
    /// verification.
    ///
    /// # Panics
    /// If a document is not below [`SparseIndex::doc_count`].
    pub fn explain(
        &self,
        query: &SparseQuery,
        scoring: &Scoring,
        docs: &[DocOrd],
    ) -> Result<Vec<Explanation>, SparseError> {
        let (mut names, mut terms) = (Vec::new(), Vec::new());
        for (name, weight) in query.terms() {
            if let Some(term) = self.term(name)? {
                names.push(name);
                terms.push((term, *weight));
            }
        }
        let prepared = self.prepare_terms(&terms, scoring)?;
        let of_doc = |&doc: &DocOrd| {
            let length = self.length(doc, scoring.lengths);
            Explanation { doc, score: 0.0, length, terms: Vec::with_capacity(terms.len()) }
        };
        let mut explained: Vec<Explanation> = docs.iter().map(of_doc).collect();
        let mut sums = vec![0_u32; docs.len()];
        for ((name, (term, weight)), scorer) in names.into_iter().zip(&terms).zip(&prepared.scorers) {
            let mut tfs: HashMap<u32, u32> = docs.iter().map(|doc| (doc.0, 0)).collect();
            term.for_each_posting(|posting| {
                if let Some(tf) = tfs.get_mut(&posting.doc) {
                    *tf = posting.tf;
                }
            })?;
            for (of_doc, sum) in explained.iter_mut().zip(&mut sums) {
                let tf = tfs.get(&of_doc.doc.0).copied().unwrap_or_default();
                let part = if tf == 0 { 0 } else { scorer.part(tf, of_doc.length) };
                *sum += part;
                of_doc.terms.push(TermScore {
                    term: name.clone(),
                    weight: *weight,
                    statistics: *term.statistics(),
                    tf,
                    score: prepared.score(part),
                });
            }
        }
        for (of_doc, sum) in explained.iter_mut().zip(sums) {
            of_doc.score = prepared.score(sum);
        }
        Ok(explained)
    }
}
