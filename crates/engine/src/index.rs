//! Indexing: a collection in, an inverted index out.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use toller_analysis::Analyzer;
use toller_ir::ModelInfo;
use toller_sparse::{BuildJob, BuildReport, Source, build};
use toller_store::ImpactStore;

use crate::event::Event;
use crate::{Engine, EngineError, TextSource};

/// How an inverted index is built.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// The text between a title and its text; `None` to leave titles out.
    pub title_separator: Option<String>,
    /// Whether the index keeps the terms of each document, for feedback.
    pub doc_vectors: bool,
    /// Bytes of memory to build with.
    pub memory_bytes: usize,
    /// Whether an index that is there is replaced.
    pub overwrite: bool,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            title_separator: Some(" ".to_owned()),
            doc_vectors: false,
            memory_bytes: 2 << 30,
            overwrite: false,
        }
    }
}

impl Engine {
    /// Builds the inverted index `output` of a collection, unless it is there. Nothing is left of the work
    /// once `stop` is set.
    ///
    /// # Errors
    /// An existing index of something else, a file that cannot be read or written.
    pub fn index(
        &self,
        source: &TextSource,
        analyzer: &Analyzer,
        output: &Path,
        options: &IndexOptions,
        stop: &AtomicBool,
    ) -> Result<BuildReport, EngineError> {
        let title_separator = &options.title_separator;
        let indexed = Source {
            fingerprint: source.fingerprint().to_string(),
            passages: source.texts(),
            title_separator: title_separator.clone(),
            model: None,
        };
        let documents = source.passages(vec![Range { start: 0, end: source.texts() }])?.map(|passage| {
            let passage = passage?;
            let text = match title_separator {
                Some(separator) => passage.joined(separator),
                None => passage.text,
            };
            Ok::<_, EngineError>((passage.id, text))
        });
        self.build(indexed, documents, analyzer, output, options, stop)
    }

    /// The same of a store of impacts. The index names the model that made them, so that queries may be
    /// texts.
    ///
    /// # Errors
    /// As [`Engine::index`].
    pub fn index_impacts(
        &self,
        store: &ImpactStore,
        output: &Path,
        options: &IndexOptions,
        stop: &AtomicBool,
    ) -> Result<BuildReport, EngineError> {
        let spec = &store.manifest().spec;
        let indexed = Source {
            fingerprint: store.fingerprint().to_string(),
            passages: store.count() as u64,
            title_separator: None,
            model: Some(spec.model.clone()).filter(ModelInfo::is_known),
        };
        let documents = store.rows().map(|(id, impacts)| Ok((id.to_owned(), impacts.to_owned())));
        self.build(indexed, documents, &Analyzer::impact(), output, options, stop)
    }

    fn build(
        &self,
        source: Source,
        documents: impl Iterator<Item = Result<(String, String), EngineError>> + Send,
        analyzer: &Analyzer,
        output: &Path,
        options: &IndexOptions,
        stop: &AtomicBool,
    ) -> Result<BuildReport, EngineError> {
        let passages = source.passages;
        let job = BuildJob {
            analyzer,
            source,
            doc_vectors: options.doc_vectors,
            memory_bytes: options.memory_bytes,
            threads: self.threads(),
            overwrite: options.overwrite,
            stop,
        };
        let report = build(output, &job, documents, |progress| {
            self.notify(Event::Indexing { progress, passages });
        });
        self.notify(Event::Finished);
        report
    }
}
