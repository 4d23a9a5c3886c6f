//! Training: dual encoders, cross-encoders and token classifiers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use toller_engine::Training;
use toller_train::{CrossRun, DualObjective, DualRun, Ending, Report, TokenRun};

use crate::by_name::by_name;
use crate::error::Failed;
use crate::models::{at_least_one, parse_pooling};
use crate::paths::Paths;
use crate::training_data::DataSource;
use crate::training_dev::MarkedDevOptions;
use crate::training_options::{Options, parse};
use crate::work::{self, Session};

/// The steps of a run, the last loss, and the best evaluation.
type Trained = (u64, Option<f64>, Option<(u64, BTreeMap<String, f64>)>);

/// Trains a dual encoder, or goes on where an interrupted run of the same ended.
#[pyfunction]
#[pyo3(signature = (output, options, *, progress=None))]
pub(crate) fn train_dual(
    py: Python<'_>,
    output: PathBuf,
    #[pyo3(from_py_with = by_name)] mut options: Options<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trained> {
    let run = DualRun {
        options: options.run()?,
        query_max_length: at_least_one("query_max_length", options.query_max_length)?,
        query_prompt: options.query_prompt.take(),
        passage_prompt: options.passage_prompt.take(),
        pooling: options.pooling.as_deref().map(parse_pooling).transpose()?,
        prefix_tokens: at_least_one("prefix_tokens", options.prefix_tokens)?,
        title_mode: parse(options.title_mode.as_deref())?,
        untie: options.untie,
        only: parse(options.only.as_deref())?,
        objective: DualObjective {
            loss: parse(options.loss.as_deref())?.unwrap_or_default(),
            similarity: parse(options.similarity.as_deref())?,
            temperature: options.temperature,
            no_in_batch: options.no_in_batch,
            symmetric: options.symmetric,
        },
        ..DualRun::default()
    };
    let (name, place) = (options.name(), options.place()?);
    let query_model = options.query_model.as_ref().map(|name| name.to_string_lossy().into_owned());
    let source = DataSource::read(&mut options, &output)?;
    work::run(py, progress, move |session| {
        let engine = session.engine()?;
        let (data, compute) = (source.files(&engine)?, place.open(&engine)?);
        data.check()?;
        let found = engine.resolve(&name)?;
        let query_model = query_model.map(|name| engine.resolve(&name)).transpose()?;
        let run = DualRun {
            known: found.known(),
            model: found.directory,
            query_model: query_model.map(|found| found.directory),
            ..run
        };
        let plan = run.open(&compute)?;
        session.wait_for_interrupted()?;
        train(engine.trainer(plan, &name, data, &output, session.stop())?, session)
    })
}

/// Trains a cross-encoder, or goes on where an interrupted run of the same ended.
#[pyfunction]
#[pyo3(signature = (output, options, *, progress=None))]
pub(crate) fn train_cross(
    py: Python<'_>,
    output: PathBuf,
    #[pyo3(from_py_with = by_name)] mut options: Options<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trained> {
    let run = CrossRun {
        options: options.run()?,
        loss: parse(options.loss.as_deref())?,
        truncation: parse(options.truncation.as_deref())?.unwrap_or_default(),
        labels: at_least_one("labels", options.labels)?,
        ..CrossRun::default()
    };
    if run.labels.is_some_and(|labels| labels > 2) {
        return Err(Failed::invalid("a classifier has 1 or 2 labels").hint("give labels=1 or 2").into());
    }
    let (name, place) = (options.name(), options.place()?);
    let source = DataSource::read(&mut options, &output)?;
    work::run(py, progress, move |session| {
        let engine = session.engine()?;
        let (data, compute) = (source.files(&engine)?, place.open(&engine)?);
        data.check()?;
        let run = CrossRun { model: engine.resolve(&name)?.directory, ..run };
        let plan = run.open(&compute)?;
        session.wait_for_interrupted()?;
        train(engine.trainer(plan, &name, data, &output, session.stop())?, session)
    })
}

/// Trains a token classifier, or goes on where an interrupted run of the same ended.
#[pyfunction]
#[pyo3(signature = (output, options, *, progress=None))]
pub(crate) fn train_token(
    py: Python<'_>,
    output: PathBuf,
    #[pyo3(from_py_with = by_name)] options: Options<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trained> {
    let (run, name, place) = (options.run()?, options.name(), options.place()?);
    let data = options.data.map(Paths::all).unwrap_or_default();
    let dev = options.marked_dev.map(MarkedDevOptions::files).transpose()?;
    work::run(py, progress, move |session| {
        let engine = session.engine()?;
        let compute = place.open(&engine)?;
        let run = TokenRun { model: engine.resolve(&name)?.directory, options: run, data };
        let plan = run.open(&compute)?;
        session.wait_for_interrupted()?;
        train(engine.token_trainer(plan, &name, dev, &output)?, session)
    })
}

/// Does the steps that are left.
fn train(training: Training, session: &Session) -> Result<Trained, Failed> {
    let Training { mut trainer, card } = training;
    let (total, mut last) = (trainer.total(), None);
    session.progress("training", trainer.step(), Some(total));
    // Of a run that is stopped, nobody waits for the result: the interruption is raised instead.
    let ending = trainer.run(session.stop(), &card, |report| match report {
        Report::Step(step) => {
            last = Some(step.loss);
            session.progress("training", step.step, Some(total));
        }
        Report::Crowded(crowded) => session.warn(crowded.to_string()),
        Report::Evaluating | Report::Evaluated(_) => {}
    })?;
    if ending == Ending::Trained && trainer.saves_untrained() {
        session.warn("saved the model of step 0, the best on the dev set: training has not made it better");
    }
    let best = trainer.best().map(|best| (best.step, best.measures.clone()));
    Ok((trainer.step(), last, best))
}
