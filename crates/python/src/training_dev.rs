//! The dev set of a run of training.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use toller_corpus::{open_collection, read_queries};
use toller_engine::Engine;
use toller_eval::{Measure, parse_measures};
use toller_train::{Dev, Judge, RankedSet, Task};

use crate::error::Failed;
use crate::given::{Files, Kind, Reading};
use crate::runs::{Qrels, Run};

/// A `toller.training.DevSet`.
#[derive(FromPyObject)]
pub(crate) struct DevOptions<'py> {
    queries: Bound<'py, PyAny>,
    qrels: Bound<'py, Qrels>,
    corpus: Option<Bound<'py, PyAny>>,
    run: Option<Bound<'py, Run>>,
    depth: usize,
    measures: String,
    every: Option<u64>,
    patience: Option<u64>,
    save_last: bool,
}

/// The same, read.
pub(crate) struct DevSource {
    queries: Files,
    qrels: Arc<toller_ir::Qrels>,
    corpus: Option<Files>,
    run: Option<Arc<toller_ir::Run>>,
    depth: usize,
    measures: Vec<Measure>,
    every: Option<u64>,
    patience: Option<u64>,
    save_last: bool,
}

impl DevOptions<'_> {
    /// Reads the arguments. `has_corpus` is whether the run has a collection of its own.
    pub(crate) fn read(&self, has_corpus: bool, folder: &Path) -> PyResult<DevSource> {
        let read = |given, kind| Files::read(given, kind, Reading::default(), folder);
        if self.corpus.is_none() && !has_corpus {
            return Err(Failed::invalid("the dev set has no collection")
                .hint("give corpus to the DevSet")
                .into());
        }
        if self.every == Some(0) || self.patience == Some(0) || self.depth == 0 {
            let failed = Failed::invalid("every, patience and depth of a DevSet are 1 or more");
            return Err(failed.hint("leave them out, or give 1 or more").into());
        }
        Ok(DevSource {
            queries: read(&self.queries, Kind::Queries)?,
            qrels: self.qrels.get().qrels.clone(),
            corpus: self.corpus.as_ref().map(|corpus| read(corpus, Kind::Passages)).transpose()?,
            run: self.run.as_ref().map(|run| run.get().run.clone()),
            depth: self.depth,
            measures: parse_measures(&self.measures).map_err(Failed::from)?,
            every: self.every,
            patience: self.patience,
            save_last: self.save_last,
        })
    }
}

impl DevSource {
    /// Opens the dev set; `corpus` is the collection of the run.
    pub(crate) fn open(
        &self,
        task: &Task,
        corpus: Option<&Files>,
        relevance_level: i32,
        engine: &Engine,
    ) -> Result<Dev, Failed> {
        let Some(corpus) = self.corpus.as_ref().or(corpus) else {
            return Err(Failed::internal("a dev set without a collection"));
        };
        let relevance_level = u32::try_from(relevance_level).map_err(|_| {
            Failed::invalid(format!("relevance_level={relevance_level}")).hint("give 0 or more for a dev set")
        })?;
        let judge = Judge { qrels: (*self.qrels).clone(), measures: self.measures.clone(), relevance_level };
        let (queries, _) = read_queries(&self.queries.of_queries(engine)?, &self.queries.queries())?;
        let set = match (task, &self.run) {
            (Task::Dual { .. }, None) => {
                let passages = open_collection(&corpus.of_collection(engine)?, &corpus.collection())?;
                RankedSet::search(task, &queries, passages, judge)?
            }
            (Task::Cross { .. }, Some(run)) => {
                RankedSet::rerank(task, &queries, run, self.depth, &corpus.texts(engine)?, judge)?
            }
            (Task::Dual { .. }, Some(_)) => {
                let failed = Failed::invalid("the run of a DevSet is for a cross-encoder");
                return Err(failed.hint("leave run out: a dual encoder is evaluated by searching corpus"));
            }
            (Task::Cross { .. }, None) => {
                let failed = Failed::invalid("a cross-encoder is evaluated by reranking a run");
                return Err(failed.hint("give run to the DevSet, whose hits the model ranks"));
            }
        };
        Ok(Dev { set: set.into(), every: self.every, patience: self.patience, saves_last: self.save_last })
    }
}
