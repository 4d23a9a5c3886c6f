//! Sparse retrieval: query texts to rankings, with or without feedback.

use std::borrow::Cow;

use toller_analysis::Analyzer;
use toller_ir::{DocOrd, Hit, Query, Ranking, SearchError, Searcher};
use toller_sparse::{Scoring, Search, SparseError, SparseIndex, SparseQuery};

use crate::QueryFilter;
use crate::feedback::{Feedback, FeedbackDocument, TermVector};

/// An inverted index, and how queries are made and documents scored.
pub struct SparseSearcher {
    index: SparseIndex,
    analyzer: Analyzer,
    scoring: Scoring,
    feedback: Option<Feedback>,
    filter: QueryFilter,
}

impl SparseSearcher {
    /// Searches `index` for the terms that `analyzer` makes of queries.
    ///
    /// # Errors
    /// When the index was made with another analyzer, or a parameter of the ranker is out of its range.
    pub fn new(index: SparseIndex, analyzer: Analyzer, scoring: Scoring) -> Result<Self, SparseError> {
        index.check_analyzer(&analyzer)?;
        scoring.ranker.check()?;
        Ok(Self { index, analyzer, scoring, feedback: None, filter: QueryFilter::default() })
    }

    /// Expands queries by their best hits.
    ///
    /// # Errors
    /// When the index was built without the vectors of documents that this needs.
    pub fn with_feedback(mut self, feedback: Feedback) -> Result<Self, SparseError> {
        if !self.index.has_doc_vectors() {
            return Err(SparseError::NoVectors { path: self.index.path().to_owned() });
        }
        self.feedback = Some(feedback);
        Ok(self)
    }

    /// Leaves documents out.
    #[must_use]
    pub fn with_filter(mut self, filter: QueryFilter) -> Self {
        self.filter = filter;
        self
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &SparseIndex {
        &self.index
    }

    fn search_one(&self, search: &mut Search<'_>, query: &Query, k: usize) -> Result<Ranking, SparseError> {
        let terms = SparseQuery::of_text(&self.analyzer, &query.text);
        let excluded = self.filter.excluded(query);
        let Some(feedback) = &self.feedback else { return self.filtered(search, &terms, excluded, k) };
        // The last hits are those of a ranking of k.
        let (top, bottom) = feedback.documents();
        let depth = if bottom > 0 { k.max(top) } else { top };
        let first = self.filtered(search, &terms, excluded, depth)?;
        let documents = |hits: &mut dyn Iterator<Item = &Hit>| {
            hits.map(|hit| self.feedback_document(hit, feedback)).collect::<Result<Vec<_>, _>>()
        };
        let best = documents(&mut first.hits.iter().take(top))?;
        let last = documents(&mut first.hits.iter().rev().take(bottom))?;
        let original: TermVector = terms.terms().iter().cloned().collect();
        let expanded = SparseQuery::weighted(feedback.expand(&original, &best, &last).iter())?;
        self.filtered(search, &expanded, excluded, k)
    }

    /// What feedback sees of a hit.
    fn feedback_document(&self, hit: &Hit, feedback: &Feedback) -> Result<FeedbackDocument, SparseError> {
        let documents = self.index.statistics().docs;
        let terms = self.index.doc_vector(hit.doc)?.into_iter();
        let admitted = terms.filter(|term| feedback.admits(&term.term, term.statistics.doc_freq, documents));
        let terms = admitted.map(|term| (term.term, term.tf as f32)).collect();
        Ok(FeedbackDocument { score: hit.score, terms })
    }

    /// The best `k` of the documents that may be hits.
    fn filtered(
        &self,
        search: &mut Search<'_>,
        query: &SparseQuery,
        excluded: &[DocOrd],
        k: usize,
    ) -> Result<Ranking, SparseError> {
        let allowed = self.filter.allowed();
        if allowed.is_none() && excluded.is_empty() {
            return search.run(query, k, &|_| true);
        }
        search.run(query, k, &|doc| {
            allowed.is_none_or(|allowed| allowed.contains(doc)) && excluded.binary_search(&doc).is_err()
        })
    }
}

impl Searcher for SparseSearcher {
    fn search(&self, queries: &[Query], k: usize) -> Result<Vec<Ranking>, SearchError> {
        let search = |search: &mut Search<'_>, query: &Query| self.search_one(search, query, k);
        Ok(self.index.search_each(queries, &self.scoring, search)?)
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.index.doc_id(doc).into()
    }

    fn doc_count(&self) -> usize {
        self.index.doc_count()
    }
}
