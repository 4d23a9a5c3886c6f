//! What a model that ranks passages learns from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use toller_corpus::{CollectionFormat, QueryFormat};
use toller_engine::{Engine, EngineError, TextFiles, TrainingData};

use crate::given::{Files, Kind, Reading, parent};
use crate::paths::Paths;
use crate::training_dev::DevSource;
use crate::training_options::Options;

/// The arguments, read.
pub(crate) struct DataSource {
    data: Vec<PathBuf>,
    queries: Option<Files>,
    corpus: Option<Files>,
    qrels: Option<Arc<toller_ir::Qrels>>,
    negatives: Option<PathBuf>,
    relevance_level: Option<i32>,
    skip_bad_lines: bool,
    dev: Option<DevSource>,
}

impl DataSource {
    /// Reads the arguments. What has to be written first is written next to `output`.
    pub(crate) fn read(options: &mut Options<'_>, output: &Path) -> PyResult<Self> {
        let reading = Reading { skip_bad_lines: options.skip_bad_lines, ..Reading::default() };
        let read = |given: &Bound<'_, PyAny>, kind| Files::read(given, kind, reading.clone(), parent(output));
        Ok(Self {
            data: options.data.take().map(Paths::all).unwrap_or_default(),
            queries: options.queries.as_ref().map(|given| read(given, Kind::Queries)).transpose()?,
            corpus: options.corpus.as_ref().map(|given| read(given, Kind::Passages)).transpose()?,
            qrels: options.qrels.as_ref().map(|qrels| qrels.0.clone()),
            negatives: options.negatives.clone(),
            relevance_level: options.relevance_level,
            skip_bad_lines: options.skip_bad_lines,
            dev: options.dev.as_ref().map(|dev| dev.read(read)).transpose()?,
        })
    }

    /// The data of a run, which must end before this is dropped.
    pub(crate) fn files(&self, engine: &Engine) -> Result<TrainingData, EngineError> {
        Ok(TrainingData {
            data: self.data.clone(),
            queries: self.queries.as_ref().map(|files| queries(files, engine)).transpose()?,
            corpus: self.corpus.as_ref().map(|files| collection(files, engine)).transpose()?,
            qrels: self.qrels.clone(),
            qrels_file: None,
            negatives: self.negatives.clone(),
            relevance_level: self.relevance_level,
            skip_bad_lines: self.skip_bad_lines,
            dev: self.dev.as_ref().map(|dev| dev.files(engine)).transpose()?,
        })
    }
}

pub(crate) fn queries(files: &Files, engine: &Engine) -> Result<TextFiles<QueryFormat>, EngineError> {
    Ok(TextFiles { names: files.names(), inputs: files.of_queries(engine)?, reading: files.queries() })
}

pub(crate) fn collection(files: &Files, engine: &Engine) -> Result<TextFiles<CollectionFormat>, EngineError> {
    Ok(TextFiles { names: files.names(), inputs: files.of_collection(engine)?, reading: files.collection() })
}
