//! Sparse retrieval: query texts to rankings, with or without feedback.

use std::borrow::Cow;
use std::slice;
use std::sync::Arc;
use std::time::Instant;

use toller_analysis::Analyzer;
use toller_encoder::{DualEncoder, Role};
use toller_ir::{
    DocOrd, Filter, Hit, Query, Ranking, SearchError, SearchRequest, SearchResponse, Searcher, Timing,
    has_impacts,
};
use toller_sparse::{Explanation, Scoring, Search, SparseError, SparseIndex, SparseQuery};

use crate::PipelineError;
use crate::dense::weigh_texts;
use crate::feedback::{Feedback, FeedbackDocument, TermVector};

/// Documents that [`SparseSearcher::filtered_share`] looks at.
const SAMPLE: usize = 100;

/// An inverted index, and how queries are made and documents scored.
pub struct SparseSearcher {
    index: SparseIndex,
    analyzer: Analyzer,
    scoring: Scoring,
    feedback: Option<Feedback>,
    /// The model that gives the terms of queries their impacts.
    encoder: Option<Arc<DualEncoder>>,
}

impl SparseSearcher {
    /// Searches `index` for the terms that `analyzer` makes of queries; with feedback, queries are expanded
    /// by their best hits.
    ///
    /// # Errors
    /// An index that was made with another analyzer, or without the vectors of documents that feedback needs;
    /// a ranker that does not score what the index holds, or with a parameter that is out of its range.
    pub fn new(
        index: SparseIndex,
        analyzer: Analyzer,
        scoring: Scoring,
        feedback: Option<Feedback>,
    ) -> Result<Self, SparseError> {
        index.check_analyzer(&analyzer)?;
        index.check_scoring(&scoring)?;
        if feedback.is_some() {
            index.check_feedback()?;
        }
        Ok(Self { index, analyzer, scoring, feedback, encoder: None })
    }

    /// The same searcher of impacts, for queries that are texts: a sparse encoder gives their terms impacts.
    /// Queries that have impacts are searched as they are.
    #[must_use]
    pub fn with_encoder(self, encoder: Arc<DualEncoder>) -> Self {
        Self { encoder: Some(encoder), ..self }
    }

    /// Whether documents have impacts.
    #[must_use]
    pub fn has_impacts(&self) -> bool {
        self.index.has_impacts()
    }

    /// The model that reads queries, if there is one.
    #[must_use]
    pub fn encoder(&self) -> Option<&DualEncoder> {
        self.encoder.as_deref()
    }

    /// The texts that are searched for, in the order of the queries.
    fn texts<'q>(&self, queries: &'q [Query]) -> Result<Vec<Cow<'q, str>>, PipelineError> {
        let mut texts: Vec<Cow<'q, str>> = queries.iter().map(|query| query.text.as_str().into()).collect();
        if let Some(encoder) = &self.encoder {
            let written: Vec<(usize, &Query)> =
                queries.iter().enumerate().filter(|(_, query)| !has_impacts(&query.text)).collect();
            let weighed = weigh_texts(encoder, Role::Query, &written, |(_, query)| (&query.id, &query.text))?;
            for ((at, _), impacts) in written.into_iter().zip(weighed) {
                texts[at] = impacts.into();
            }
        }
        Ok(texts)
    }

    /// What makes terms of a query.
    #[must_use]
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// The share of the documents' terms that could expand queries, except for RM3's filter of terms: 0 to 1,
    /// in a sample of the documents.
    ///
    /// # Errors
    /// When the index is damaged and was opened without verification.
    pub fn filtered_share(&self) -> Result<f64, SparseError> {
        let Some(feedback) = self.feedback else { return Ok(0.0) };
        let unfiltered = feedback.without_term_filter();
        if unfiltered == feedback {
            return Ok(0.0);
        }
        let documents = self.index.statistics().docs_with_terms;
        let step = self.index.doc_count().div_ceil(SAMPLE).max(1);
        let (mut all, mut left_out) = (0_u32, 0_u32);
        for doc in (0..self.index.doc_count()).step_by(step) {
            for term in self.index.doc_vector(DocOrd(doc as u32))? {
                let admits = |by: Feedback| by.admits(&term.term, term.statistics.doc_freq, documents);
                all += u32::from(admits(unfiltered));
                left_out += u32::from(admits(unfiltered) && !admits(feedback));
            }
        }
        Ok(f64::from(left_out) / f64::from(all.max(1)))
    }

    /// Why `docs` have their scores for a query; one explanation a document, in their order. The scores are
    /// those of a search for the `k` best documents that `filter` admits for its first query: feedback
    /// expands a query by what this search finds.
    ///
    /// # Errors
    /// When the index is damaged and was opened without verification, or the query cannot be encoded.
    ///
    /// # Panics
    /// If a document is not in the index.
    pub fn explain(
        &self,
        query: &Query,
        k: usize,
        filter: &Filter<'_>,
        docs: &[DocOrd],
    ) -> Result<Vec<Explanation>, PipelineError> {
        let admits = |doc: DocOrd| filter.admits(0, doc);
        let text = self.texts(slice::from_ref(query))?.remove(0);
        let query =
            self.query(&text, k, &mut |query, k| self.index.search_among(query, &self.scoring, k, admits))?;
        Ok(self.index.explain(&query, &self.scoring, docs)?)
    }

    /// Searches for the text of the query at a place of the request.
    fn search_one(
        &self,
        search: &mut Search<'_>,
        request: &SearchRequest<'_>,
        (at, text): (usize, &str),
    ) -> Result<Ranking, SparseError> {
        let SearchRequest { k, filter, queries: _ } = request;
        let mut filtered = |query: &SparseQuery, k: usize| {
            if filter.admits_all() {
                return search.run(query, k, &|_| true);
            }
            search.run(query, k, &|doc| filter.admits(at, doc))
        };
        let query = self.query(text, *k, &mut filtered)?;
        filtered(&query, *k)
    }

    /// The query whose hits count: the terms of a text, expanded by what `search` finds if feedback was asked
    /// for.
    fn query(
        &self,
        text: &str,
        k: usize,
        search: &mut dyn FnMut(&SparseQuery, usize) -> Result<Ranking, SparseError>,
    ) -> Result<SparseQuery, SparseError> {
        let terms = SparseQuery::of_text(&self.analyzer, text);
        let Some(feedback) = &self.feedback else { return Ok(terms) };
        // The last hits come from a ranking of k.
        let (top, bottom) = feedback.documents();
        let depth = if bottom > 0 { top.max(k) } else { top };
        let first = search(&terms, depth)?;
        let documents = |hits: &mut dyn Iterator<Item = &Hit>| {
            hits.map(|hit| self.feedback_document(hit, feedback)).collect::<Result<Vec<_>, _>>()
        };
        let best = documents(&mut first.hits.iter().take(top))?;
        let last = documents(&mut first.hits.iter().rev().take(bottom))?;
        let original: TermVector = terms.terms().iter().cloned().collect();
        SparseQuery::weighted(feedback.expand(&original, &best, &last).iter())
    }

    /// What feedback sees of a hit.
    fn feedback_document(&self, hit: &Hit, feedback: &Feedback) -> Result<FeedbackDocument, SparseError> {
        // Anserini does not index the others.
        let documents = self.index.statistics().docs_with_terms;
        let terms = self.index.doc_vector(hit.doc)?.into_iter();
        let admitted = terms.filter(|term| feedback.admits(&term.term, term.statistics.doc_freq, documents));
        let terms = admitted.map(|term| (term.term, term.tf as f32)).collect();
        Ok(FeedbackDocument { score: hit.score, terms })
    }
}

impl Searcher for SparseSearcher {
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
        request.check()?;
        let started = Instant::now();
        let texts = self.texts(request.queries)?;
        let mut timings = Vec::new();
        if self.encoder.is_some() {
            timings.push(Timing { stage: "encode", duration: started.elapsed() });
        }
        let started = Instant::now();
        let places: Vec<(usize, &str)> = texts.iter().map(|text| &**text).enumerate().collect();
        let search =
            |search: &mut Search<'_>, query: &(usize, &str)| self.search_one(search, request, *query);
        let rankings = self.index.search_each(&places, &self.scoring, search)?;
        timings.push(Timing { stage: "postings", duration: started.elapsed() });
        Ok(SearchResponse { rankings, timings, ..SearchResponse::default() })
    }

    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
        self.index.doc_id(doc)
    }

    fn doc_count(&self) -> usize {
        self.index.doc_count()
    }
}
