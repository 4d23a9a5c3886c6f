//! The dev set of a run of training.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use toller_engine::{DevData, Engine, EngineError};
use toller_eval::{Measure, parse_measures};
use toller_train::Dev;

use crate::error::Failed;
use crate::given::{Files, Kind};
use crate::paths::Paths;
use crate::runs::{GivenQrels, GivenRun};
use crate::training_data::{collection, queries};

/// A `toller.training.DevSet`.
#[derive(FromPyObject)]
pub(crate) struct DevOptions<'py> {
    queries: Bound<'py, PyAny>,
    qrels: GivenQrels,
    corpus: Option<Bound<'py, PyAny>>,
    run: Option<GivenRun>,
    depth: Option<usize>,
    measures: String,
    every: Option<u64>,
    patience: Option<u64>,
    save_last: bool,
}

/// A `toller.training.MarkedDevSet`.
#[derive(FromPyObject)]
pub(crate) struct MarkedDevOptions {
    data: Paths,
    every: Option<u64>,
    patience: Option<u64>,
    save_last: bool,
}

/// The same as [`DevOptions`], read.
pub(crate) struct DevSource(Dev<Judged>);

struct Judged {
    queries: Files,
    qrels: Arc<toller_ir::Qrels>,
    corpus: Option<Files>,
    run: Option<Arc<toller_ir::Run>>,
    depth: Option<usize>,
    measures: Vec<Measure>,
}

impl DevOptions<'_> {
    /// Reads the arguments, files with `read`.
    pub(crate) fn read(
        &self,
        read: impl Fn(&Bound<'_, PyAny>, Kind) -> PyResult<Files>,
    ) -> PyResult<DevSource> {
        check([("every", self.every), ("patience", self.patience), ("depth", self.depth.map(|n| n as u64))])?;
        let set = Judged {
            queries: read(&self.queries, Kind::Queries)?,
            qrels: self.qrels.0.clone(),
            corpus: self.corpus.as_ref().map(|corpus| read(corpus, Kind::Passages)).transpose()?,
            run: self.run.as_ref().map(|run| run.0.clone()),
            depth: self.depth,
            measures: parse_measures(&self.measures).map_err(Failed::from)?,
        };
        let (every, patience, saves_last) = (self.every, self.patience, self.save_last);
        Ok(DevSource(Dev { set, every, patience, saves_last }))
    }
}

impl DevSource {
    /// The dev set of a run, which must end before this is dropped.
    pub(crate) fn files(&self, engine: &Engine) -> Result<Dev<DevData>, EngineError> {
        let Self(Dev { set, every, patience, saves_last }) = self;
        let data = DevData {
            queries: queries(&set.queries, engine)?,
            qrels: set.qrels.clone(),
            corpus: set.corpus.as_ref().map(|files| collection(files, engine)).transpose()?,
            run: set.run.clone(),
            depth: set.depth,
            measures: set.measures.clone(),
        };
        Ok(Dev { set: data, every: *every, patience: *patience, saves_last: *saves_last })
    }
}

impl MarkedDevOptions {
    pub(crate) fn files(self) -> Result<Dev<Vec<PathBuf>>, Failed> {
        let Self { data, every, patience, save_last: saves_last } = self;
        check([("every", every), ("patience", patience)])?;
        Ok(Dev { set: data.all(), every, patience, saves_last })
    }
}

/// Refuses 0.
fn check<const N: usize>(numbers: [(&str, Option<u64>); N]) -> Result<(), Failed> {
    match numbers.into_iter().find(|(_, number)| *number == Some(0)) {
        Some((name, _)) => Err(Failed::invalid(format!("{name}=0 of a dev set")).hint("give at least 1")),
        None => Ok(()),
    }
}
