//! What a model that ranks passages is evaluated on while it is trained.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use toller_corpus::{CollectionFormat, QueryFormat, open_collection};
use toller_eval::Measure;
use toller_ir::{Qrels, Run, Setting, remedy};
use toller_train::{Judge, RankedSet, Task, TrainError};

use super::TextFiles;
use crate::event::Event;
use crate::{Engine, EngineError};

/// Hits that a cross-encoder ranks, by default.
const DEPTH: usize = 100;

/// Judged queries on which a model is evaluated.
#[derive(Clone, Debug)]
pub struct DevData {
    /// The queries.
    pub queries: TextFiles<QueryFormat>,
    /// Their judgments.
    pub qrels: Arc<Qrels>,
    /// The collection; `None` for that of the examples.
    pub corpus: Option<TextFiles<CollectionFormat>>,
    /// For a cross-encoder: the run whose hits are ranked again.
    pub run: Option<Arc<Run>>,
    /// For a cross-encoder: hits of a query that are ranked; `None` for 100.
    pub depth: Option<usize>,
    /// The measures. The first decides which model is the best.
    pub measures: Vec<Measure>,
}

impl DevData {
    /// The collection: its own, or that of the examples.
    pub(super) fn collection<'a>(
        &'a self,
        of_examples: Option<&'a TextFiles<CollectionFormat>>,
    ) -> Result<&'a TextFiles<CollectionFormat>, TrainError> {
        self.corpus.as_ref().or(of_examples).ok_or_else(|| TrainError::Options {
            problem: "the dev set has no collection".into(),
            remedy: remedy!("give {}", Setting::DevCorpus),
        })
    }
}

impl Engine {
    /// Opens a dev set, and reports judged queries that it cannot rank. `corpus` is the collection of the
    /// examples.
    pub(super) fn dev_set(
        &self,
        data: &DevData,
        task: &Task,
        corpus: Option<&TextFiles<CollectionFormat>>,
        relevance_level: i32,
        stop: &AtomicBool,
    ) -> Result<RankedSet, EngineError> {
        let set = self.ranked_set(data, task, corpus, relevance_level, stop)?;
        let (missing, judged) = set.missing();
        if missing > 0 {
            self.notify(Event::DevQueriesMissing { missing, judged });
        }
        if matches!(task, Task::Dual { .. }) {
            let (missing, relevant) = set.missing_documents();
            if missing > 0 {
                self.notify(Event::DevDocumentsMissing { missing, relevant });
            }
        }
        Ok(set)
    }

    fn ranked_set(
        &self,
        data: &DevData,
        task: &Task,
        corpus: Option<&TextFiles<CollectionFormat>>,
        relevance_level: i32,
        stop: &AtomicBool,
    ) -> Result<RankedSet, EngineError> {
        let level = u32::try_from(relevance_level).map_err(|_| TrainError::OutOfRange {
            setting: Setting::RelevanceLevel.name(),
            value: relevance_level.into(),
            range: "0 or more for a dev set",
        })?;
        let corpus = data.collection(corpus)?;
        let DevData { queries, run, depth, .. } = data;
        let (qrels, measures) = ((*data.qrels).clone(), data.measures.clone());
        let judge = Judge { qrels, measures, relevance_level: level };
        let (problem, remedy) = match (task, run) {
            (Task::Dual { .. }, None) if depth.is_none() => {
                let queries = self.judged_queries(queries)?;
                let mut passages = open_collection(&corpus.inputs, &corpus.reading)?;
                let set = RankedSet::search(task, &queries, passages.by_ref(), judge, stop)?;
                self.notify(Event::Skipped { inputs: &[], skipped: passages.skipped() });
                return Ok(set);
            }
            (Task::Cross { .. }, Some(run)) => {
                let (queries, texts) = (self.judged_queries(queries)?, self.passages(corpus)?);
                return Ok(RankedSet::rerank(task, &queries, run, depth.unwrap_or(DEPTH), &texts, judge)?);
            }
            (Task::Dual { .. }, None) => (
                remedy!("{} is for a cross-encoder", Setting::DevDepth),
                remedy!(
                    "omit {}: a dual encoder searches {} for 1,000 hits",
                    Setting::DevDepth,
                    Setting::DevCorpus
                ),
            ),
            (Task::Dual { .. }, Some(_)) => (
                remedy!("{} is for a cross-encoder", Setting::DevRun),
                remedy!(
                    "omit {}: a dual encoder is evaluated by searching {}",
                    Setting::DevRun,
                    Setting::DevCorpus
                ),
            ),
            (Task::Cross { .. }, None) => (
                "a cross-encoder is evaluated by reranking a run".into(),
                remedy!("give {}, whose hits it ranks", Setting::DevRun.to("RUN")),
            ),
        };
        Err(TrainError::Options { problem, remedy }.into())
    }
}
