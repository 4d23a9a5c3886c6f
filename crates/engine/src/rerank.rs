//! Reranking: opening a collection's texts, and rerankers.

use std::sync::Arc;

use toller_encoder::CrossEncoder;
use toller_files::Input;
use toller_ir::{SearchError, SearchRequest, SearchResponse, Searcher};
use toller_pipeline::rerank::{RerankOptions, RerankedSearcher, Reranker, Stop};
use toller_texts::{Texts, TextsEvent, TextsOptions};

use crate::event::{Event, Work};
use crate::threads::Pooled;
use crate::{Engine, EngineError};

impl Engine {
    /// Opens the texts of a collection by identifier, indexing them first if there is no index. Without a
    /// cache folder in the options, the engine's is used.
    ///
    /// # Errors
    /// Those of [`Texts::open`].
    pub fn texts(&self, inputs: &[Input], options: &TextsOptions) -> Result<Texts, EngineError> {
        let total = inputs.iter().map(Input::size_bytes).sum();
        let progress = |done| self.notify(Event::Progress { work: Work::IndexTexts, done, total });
        let options =
            TextsOptions { cache: options.cache.clone().or_else(|| self.cache.clone()), ..options.clone() };
        let texts = Texts::open(inputs, &options, |event| match event {
            TextsEvent::Building { directory, instead_of } => {
                self.notify(Event::TextsIndexed { directory, instead_of });
                progress(0);
            }
            TextsEvent::Waiting { directory } => self.notify(Event::TextsAwaited { directory }),
            TextsEvent::Elsewhere { directory } => {
                self.notify(Event::Finished);
                self.notify(Event::TextsElsewhere { directory });
            }
            TextsEvent::Progress(read) => progress(read.bytes),
            TextsEvent::Built { passages, bytes } => {
                self.notify(Event::Finished);
                self.notify(Event::TextsBuilt { passages, bytes });
            }
        })?;
        self.notify(Event::TextsOpened(&texts));
        Ok(texts)
    }

    /// A reranker by one or several cross-encoders, with the texts of the collection.
    ///
    /// # Errors
    /// Options that cannot be used.
    pub fn reranker(
        &self,
        models: Vec<impl Into<Arc<CrossEncoder>>>,
        texts: impl Into<Arc<Texts>>,
        options: RerankOptions,
    ) -> Result<Reranker, EngineError> {
        Ok(Reranker::new(models, texts.into(), options, self.threads())?)
    }

    /// A searcher whose best hits are reranked.
    #[must_use]
    pub fn reranked(
        &self,
        first_stage: Arc<dyn Searcher>,
        reranker: impl Into<Arc<Reranker>>,
    ) -> Arc<Pooled<RerankedSearcher>> {
        Pooled::new(RerankedSearcher::new(first_stage, reranker.into()), &self.threads)
    }
}

impl Pooled<RerankedSearcher> {
    /// As [`RerankedSearcher::search_until`], in the engine's threads.
    ///
    /// # Errors
    /// As there.
    pub fn search_until(
        &self,
        request: &SearchRequest<'_>,
        stop: Stop<'_>,
    ) -> Result<SearchResponse, SearchError> {
        self.in_threads(|searcher| searcher.search_until(request, stop))
    }
}
