//! Sparse retrieval: opening inverted indexes.

use std::path::Path;
use std::sync::Arc;

use toller_analysis::Analyzer;
use toller_pipeline::SparseSearcher;
use toller_pipeline::feedback::Feedback;
use toller_sparse::{Lengths, Ranker, Scoring, SparseIndex};

use crate::event::Event;
use crate::threads::Pooled;
use crate::{Engine, EngineError};

/// RM3's filter of terms leaves out more than this share of the terms: the texts are not English. In English
/// it leaves out about a fiftieth.
const MUCH_FILTERED: f64 = 0.1;

/// How an inverted index is searched.
#[derive(Clone, Debug)]
pub struct SparseOptions {
    /// How documents are scored; without it, by impacts where the index holds them, and by
    /// [`Ranker::BM25`] elsewhere.
    pub ranker: Option<Ranker>,
    /// The lengths of documents that scores depend on.
    pub lengths: Lengths,
    /// How queries are expanded.
    pub feedback: Option<Feedback>,
    /// The analyzer, as for [`Engine::analyzer`]; without it, the one that the index names. It makes the same
    /// terms: its model may have another place.
    pub analyzer: Option<String>,
    /// Whether checksums are verified.
    pub verify: bool,
}

impl Default for SparseOptions {
    fn default() -> Self {
        Self { ranker: None, lengths: Lengths::default(), feedback: None, analyzer: None, verify: true }
    }
}

impl Engine {
    /// Opens an inverted index to be searched.
    ///
    /// # Errors
    /// An index that is damaged, whose analyzer cannot be loaded or has changed, or that has no vectors of
    /// documents for feedback; a parameter that is out of its range.
    pub fn sparse(
        &self,
        directory: &Path,
        options: &SparseOptions,
    ) -> Result<Arc<Pooled<SparseSearcher>>, EngineError> {
        let (index, analyzer) = self.open_sparse(directory, options.analyzer.as_deref(), options.verify)?;
        if options.feedback.is_some() {
            self.opening(options.verify, |options| index.verify_doc_vectors(options))?;
        }
        let ranker =
            options.ranker.unwrap_or(if index.has_impacts() { Ranker::Impact } else { Ranker::BM25 });
        let scoring = Scoring { ranker, lengths: options.lengths };
        let searcher = SparseSearcher::new(index, analyzer, scoring, options.feedback)?;
        let share = searcher.filtered_share()?;
        if share > MUCH_FILTERED {
            self.notify(Event::TermsFiltered { share });
        }
        Ok(Pooled::new(searcher, &self.threads))
    }

    /// Opens an inverted index, and the analyzer that it was made with, or the one of a name, which makes the
    /// same terms. The checksum of document vectors is not verified
    /// ([`SparseIndex::verify_doc_vectors`]).
    ///
    /// # Errors
    /// As [`Engine::sparse`].
    pub fn open_sparse(
        &self,
        directory: &Path,
        analyzer: Option<&str>,
        verify: bool,
    ) -> Result<(SparseIndex, Analyzer), EngineError> {
        let index = self.opening(verify, |options| SparseIndex::open(directory, options))?;
        let analyzer = match analyzer {
            Some(name) => self.analyzer(name)?,
            None => self.analyzer_here(index.analyzer_name())?,
        };
        index.check_analyzer(&analyzer)?;
        Ok((index, analyzer))
    }
}
