//! Sparse retrieval: opening inverted indexes.

use std::path::Path;
use std::sync::Arc;

use toller_analysis::Analyzer;
use toller_encoder::{EncoderError, TextPooling};
use toller_hub::ResolveError;
use toller_pipeline::SparseSearcher;
use toller_pipeline::feedback::Feedback;
use toller_sparse::{Lengths, Ranker, Scoring, SparseError, SparseIndex};

use crate::event::Event;
use crate::threads::Pooled;
use crate::{Encoder, EncoderOptions, Engine, EngineError};

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
    /// For an index of impacts, the sparse encoder of queries that are texts; without it, the one that the
    /// index names.
    pub model: Option<String>,
    /// How this model is loaded.
    pub encoder: EncoderOptions,
    /// Whether all queries have impacts, so that no model is loaded.
    pub queries_have_impacts: bool,
    /// Whether checksums are verified.
    pub verify: bool,
}

impl Default for SparseOptions {
    fn default() -> Self {
        Self {
            ranker: None,
            lengths: Lengths::default(),
            feedback: None,
            analyzer: None,
            model: None,
            encoder: EncoderOptions::default(),
            queries_have_impacts: false,
            verify: true,
        }
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
        let encoder = self.encoder_of_queries(&index, options)?;
        let mut searcher = SparseSearcher::new(index, analyzer, scoring, options.feedback)?;
        if let Some(encoder) = encoder {
            searcher = searcher.with_encoder(encoder.model);
        }
        let share = searcher.filtered_share()?;
        if share > MUCH_FILTERED {
            self.notify(Event::TermsFiltered { share });
        }
        Ok(Pooled::new(searcher, &self.threads))
    }

    /// The model that gives the terms of queries impacts, if one is asked for or the index names one.
    fn encoder_of_queries(
        &self,
        index: &SparseIndex,
        options: &SparseOptions,
    ) -> Result<Option<Encoder>, EngineError> {
        let path = || index.path().to_owned();
        if options.queries_have_impacts {
            return Ok(None);
        }
        let indexed = index.manifest().source.model.as_ref();
        let encoder = match (&options.model, indexed) {
            (None, None) => return Ok(None),
            (Some(_), _) if !index.has_impacts() => {
                return Err(SparseError::NotOfModel { path: path() }.into());
            }
            (Some(name), _) => self.encoder(name, &sparse_encoder(&options.encoder))?,
            (None, Some(model)) => {
                // Nothing is downloaded: the index may come from anyone.
                let here = |name: &str| {
                    self.resolve_here(name).map_err(|error| match error {
                        EngineError::Resolve(source @ ResolveError::NotFound { .. }) => {
                            EngineError::ImpactModel { model: name.to_owned(), source }
                        }
                        error => error,
                    })
                };
                let query_model = options.encoder.query_model.clone().or_else(|| model.query_model.clone());
                let query_model = query_model.as_deref().map(here).transpose()?;
                let query_model = query_model.map(|source| source.directory.display().to_string());
                let asked = EncoderOptions { query_model, ..sparse_encoder(&options.encoder) };
                self.encoder_from(here(&model.name)?, &model.name, &asked)?
            }
        };
        if !encoder.is_sparse() {
            return Err(EncoderError::Dense.into());
        }
        if let Some(indexed) = indexed.filter(|indexed| !indexed.encodes_passages_as(encoder.info())) {
            let (indexed, given) = (indexed.clone(), encoder.info().clone());
            return Err(SparseError::WrongModel { path: path(), models: Box::new([indexed, given]) }.into());
        }
        Ok(Some(encoder))
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

/// How a sparse encoder is loaded: its directory need not say that it is one.
fn sparse_encoder(options: &EncoderOptions) -> EncoderOptions {
    EncoderOptions { pooling: options.pooling.or(Some(TextPooling::Splade)), ..options.clone() }
}
