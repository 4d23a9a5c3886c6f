//! Training: dual encoders and cross-encoders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use toller_corpus::read_queries;
use toller_encoder::{CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, NewHead, NewPrefix};
use toller_engine::{Engine, Role};
use toller_hub::Origin;
use toller_train::{
    Chunks, Compute, CrossLoss, Dev, DualObjective, ExampleFile, Judged, Length, Model, Negatives, Optimizer,
    Rates, Report, Settings, Source, Task, Titles, Trainer, Warmup, card, read_negatives,
};

use crate::error::Failed;
use crate::given::{Files, Kind, Reading, file_name, parent};
use crate::models::{at_least_one, parse_pooling};
use crate::paths::Paths;
use crate::runs::Qrels;
use crate::training_dev::{DevOptions, DevSource};
use crate::work::{self, Session};

/// The options of every run, as `toller.training` gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    model: PathBuf,
    #[pyo3(default)]
    data: Option<Paths>,
    #[pyo3(default)]
    queries: Option<Bound<'py, PyAny>>,
    #[pyo3(default)]
    corpus: Option<Bound<'py, PyAny>>,
    #[pyo3(default)]
    qrels: Option<Bound<'py, Qrels>>,
    #[pyo3(default)]
    negatives: Option<PathBuf>,
    #[pyo3(default)]
    relevance_level: Option<i32>,
    #[pyo3(default)]
    epochs: Option<f64>,
    #[pyo3(default)]
    steps: Option<u64>,
    #[pyo3(default)]
    batch_size: Option<usize>,
    #[pyo3(default)]
    accumulate: Option<usize>,
    #[pyo3(default)]
    negatives_per_query: Option<usize>,
    #[pyo3(default)]
    lr: Option<f64>,
    #[pyo3(default)]
    schedule: Option<String>,
    #[pyo3(default)]
    warmup: Option<f64>,
    #[pyo3(default)]
    optimizer: Option<String>,
    #[pyo3(default)]
    weight_decay: Option<f64>,
    #[pyo3(default)]
    max_grad_norm: Option<f64>,
    #[pyo3(default)]
    dropout: Option<f32>,
    #[pyo3(default)]
    perturb: Option<f64>,
    #[pyo3(default)]
    seed: Option<u64>,
    #[pyo3(default)]
    chunk_size: Option<usize>,
    #[pyo3(default)]
    save_every: Option<u64>,
    #[pyo3(default)]
    keep_checkpoints: Option<usize>,
    #[pyo3(default)]
    max_length: Option<usize>,
    #[pyo3(default)]
    title_separator: Option<String>,
    #[pyo3(default)]
    dev: Option<DevOptions<'py>>,
    #[pyo3(default)]
    loss: Option<String>,
    #[pyo3(default)]
    similarity: Option<String>,
    #[pyo3(default)]
    temperature: Option<f64>,
    #[pyo3(default)]
    symmetric: bool,
    #[pyo3(default)]
    no_in_batch: bool,
    #[pyo3(default)]
    no_duplicates: bool,
    #[pyo3(default)]
    truncation: Option<String>,
    #[pyo3(default)]
    untie: bool,
    #[pyo3(default)]
    only: Option<String>,
    #[pyo3(default)]
    query_max_length: Option<usize>,
    #[pyo3(default)]
    pooling: Option<String>,
    #[pyo3(default)]
    query_model: Option<PathBuf>,
    #[pyo3(default)]
    prefix_tokens: Option<usize>,
    #[pyo3(default)]
    labels: Option<usize>,
}

/// The steps of a run, the last loss, and the best evaluation.
type Trained = (u64, Option<f64>, Option<(u64, BTreeMap<String, f64>)>);

/// Trains a dual encoder, or goes on where an interrupted run of the same ended.
#[pyfunction]
#[pyo3(signature = (output, options, *, progress=None))]
pub(crate) fn train_dual(
    py: Python<'_>,
    output: PathBuf,
    options: Options<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trained> {
    let objective = DualObjective {
        loss: parse(options.loss.as_deref())?.unwrap_or_default(),
        similarity: parse(options.similarity.as_deref())?,
        temperature: options.temperature,
        no_in_batch: options.no_in_batch,
        symmetric: options.symmetric,
    };
    let only = match options.only.as_deref() {
        None => None,
        Some("query") => Some(Role::Query),
        Some("passage") => Some(Role::Passage),
        Some(other) => {
            let failed = Failed::invalid(format!("no encoder is named {other:?}"));
            return Err(failed.hint("only is query or passage").into());
        }
    };
    let (untie, pooling) = (options.untie, options.pooling.as_deref().map(parse_pooling).transpose()?);
    let query_model = options.query_model.as_deref().map(name_of);
    let max_length = at_least_one("max_length", options.max_length)?;
    let lengths = [at_least_one("query_max_length", options.query_max_length)?.or(max_length), max_length];
    let prefix_tokens = at_least_one("prefix_tokens", options.prefix_tokens)?;
    let job = Job::new(options, output)?;
    work::run(py, progress, move |session| {
        let engine = session.engine()?;
        let found = engine.resolve(&job.model)?;
        let new_prefix = prefix_tokens.map(|tokens| NewPrefix { tokens, seed: job.settings.seed });
        let query_model = query_model.map(|name| engine.resolve(&name)).transpose()?;
        let known = match found.origin {
            Origin::Known(model) => Some(model),
            Origin::Directory | Origin::Hub { .. } => None,
        };
        let load = |max_length| {
            let query_model = query_model.as_ref().map(|found| found.directory.clone());
            let known = known.clone();
            let options =
                LoadOptions { max_length, query_model, pooling, new_prefix, known, ..LoadOptions::default() };
            DualEncoder::load(&found.directory, &options)
        };
        let [queries, passages] = [load(lengths[0])?, load(lengths[1])?];
        let model = Model::dual(&queries, untie, only, &Compute::Cpu)?;
        let tower = queries.tower(Role::Query);
        let (similarity, loss) = objective.complete(tower.normalizes())?;
        let dropout = Rates::of_model(tower.folder())?;
        let titles = Titles::Joined(job.separator.clone());
        job.run(&engine, Task::Dual { queries, passages, similarity, loss, titles }, model, dropout, session)
    })
}

/// Trains a cross-encoder, or goes on where an interrupted run of the same ended.
#[pyfunction]
#[pyo3(signature = (output, options, *, progress=None))]
pub(crate) fn train_cross(
    py: Python<'_>,
    output: PathBuf,
    options: Options<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trained> {
    let loss = parse::<CrossLoss>(options.loss.as_deref())?;
    let truncation = parse(options.truncation.as_deref())?.unwrap_or_default();
    let new_labels = at_least_one("labels", options.labels)?;
    if new_labels.is_some_and(|labels| labels > 2) {
        return Err(Failed::invalid("a classifier has 1 or 2 labels").hint("give labels=1 or 2").into());
    }
    let max_length = at_least_one("max_length", options.max_length)?;
    let job = Job::new(options, output)?;
    work::run(py, progress, move |session| {
        let engine = session.engine()?;
        let found = engine.resolve(&job.model)?;
        let wanted = new_labels.unwrap_or_else(|| CrossLoss::new_labels(loss));
        let options = CrossEncoderOptions {
            max_length,
            truncation,
            // The label of a score does not matter here, and the first always exists.
            label: Some(0),
            new_head: Some(NewHead { labels: wanted, seed: job.settings.seed }),
            ..CrossEncoderOptions::default()
        };
        let encoder = CrossEncoder::load(&found.directory, &options)?;
        let labels = encoder.labels().len();
        if new_labels.is_some() && labels != wanted {
            let failed = Failed::invalid(format!("the model has a classifier with {labels} labels"));
            return Err(failed.hint("leave labels out; it is for a model without a classifier"));
        }
        let loss = loss.unwrap_or_else(|| CrossLoss::for_labels(labels));
        loss.check(labels)?;
        let (model, dropout) = (Model::cross(&encoder, &Compute::Cpu)?, Rates::of_model(encoder.folder())?);
        job.run(
            &engine,
            Task::Cross { encoder, loss, separator: job.separator.clone() },
            model,
            dropout,
            session,
        )
    })
}

/// A value by its name.
fn parse<T: std::str::FromStr<Err: Into<Failed>>>(name: Option<&str>) -> Result<Option<T>, Failed> {
    name.map(str::parse).transpose().map_err(Into::into)
}

fn name_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What both kinds of runs have.
struct Job {
    model: String,
    output: PathBuf,
    separator: String,
    /// Without the model's own rates of dropout.
    settings: Settings,
    dropout: Option<Rates>,
    data: Vec<PathBuf>,
    queries: Option<Files>,
    corpus: Option<Files>,
    qrels: Option<Arc<toller_ir::Qrels>>,
    negatives: Option<PathBuf>,
    relevance_level: i32,
    dev: Option<DevSource>,
}

impl Job {
    fn new(mut options: Options<'_>, output: PathBuf) -> PyResult<Self> {
        let read = |given: &Option<Bound<'_, PyAny>>, kind| {
            let read = |given| Files::read(given, kind, Reading::default(), parent(&output));
            given.as_ref().map(read).transpose()
        };
        let (queries, corpus) =
            (read(&options.queries, Kind::Queries)?, read(&options.corpus, Kind::Passages)?);
        let data = options.data.take().map(Paths::all).unwrap_or_default();
        if data.is_empty() && queries.is_none() {
            let failed = Failed::invalid("there is nothing to learn from");
            return Err(failed.hint("give data, or queries, corpus and qrels").into());
        }
        if queries.is_none() && (options.qrels.is_some() || options.negatives.is_some()) {
            let failed = Failed::invalid("qrels and negatives are for queries, which are not given");
            return Err(failed.hint("give queries, or leave qrels and negatives out").into());
        }
        if queries.is_some() && (options.qrels.is_none() || corpus.is_none()) {
            let failed = Failed::invalid("queries need judgments and texts");
            return Err(failed.hint("give qrels and corpus").into());
        }
        let dev = options.dev.as_ref().map(|dev| dev.read(corpus.is_some(), parent(&output))).transpose()?;
        Ok(Self {
            model: name_of(&options.model),
            separator: options.title_separator.clone().unwrap_or_else(|| " ".to_owned()),
            settings: settings(&options)?,
            dropout: options.dropout.map(Rates::all),
            data,
            queries,
            corpus,
            qrels: options.qrels.as_ref().map(|qrels| qrels.get().qrels.clone()),
            negatives: options.negatives.clone(),
            relevance_level: options.relevance_level.unwrap_or(1),
            dev,
            output,
        })
    }

    fn run(
        &self,
        engine: &Engine,
        task: Task,
        model: Model,
        own: Rates,
        session: &Arc<Session>,
    ) -> Result<Trained, Failed> {
        session.wait_for_interrupted()?;
        let settings = Settings { dropout: self.dropout.unwrap_or(own), ..self.settings.clone() };
        let readme = card(&self.model, &self.names(), &task, &model, &settings);
        let source = self.source(engine, session)?;
        let dev: Option<Dev> = match &self.dev {
            Some(dev) => Some(dev.open(&task, self.corpus.as_ref(), self.relevance_level, engine)?),
            None => None,
        };
        let mut trainer = Trainer::new(task, model, source, dev, settings, &self.output)?;
        for error in trainer.damaged() {
            session.warn(format!("{error}; going on from the checkpoint before it"));
        }
        let (total, mut last) = (trainer.total(), None);
        session.progress("training", trainer.step(), Some(total));
        // Of a run that is stopped, nobody waits for the result: the interruption is raised instead.
        trainer.run(session.stop(), &readme, |report| {
            if let Report::Step(step) = report {
                last = Some(step.loss);
                session.progress("training", step.step, Some(total));
            }
        })?;
        let best = trainer.best().map(|best| (best.step, best.measures.clone()));
        Ok((trainer.step(), last, best))
    }

    /// The names of what is learned from.
    fn names(&self) -> Vec<String> {
        let of = |files: &Option<Files>| files.iter().flat_map(Files::names).collect::<Vec<_>>();
        let names = |paths: &[PathBuf]| paths.iter().filter_map(|path| file_name(path)).collect::<Vec<_>>();
        [names(&self.data), of(&self.queries), names(self.negatives.as_slice()), of(&self.corpus)].concat()
    }

    /// The examples.
    fn source(&self, engine: &Engine, session: &Session) -> Result<Source, Failed> {
        let files = self.data.iter().map(|path| ExampleFile::open(path)).collect::<Result<Vec<_>, _>>()?;
        let texts = self.corpus.as_ref().map(|corpus| corpus.texts(engine)).transpose()?;
        let judged = match (&self.queries, &self.qrels, &texts) {
            (Some(queries), Some(qrels), Some(texts)) => {
                let (queries, _) = read_queries(&queries.of_queries(engine)?, &queries.queries())?;
                let negatives = match &self.negatives {
                    Some(path) => read_negatives(path)?,
                    None => Negatives::default(),
                };
                let has = |id: &str| texts.contains(id);
                let judged = Judged::new(&queries, qrels, self.relevance_level, negatives, has)?;
                judged.left_out().problems().for_each(|problem| session.warn(problem));
                Some(judged)
            }
            _ => None,
        };
        Ok(Source::new(files, judged, texts))
    }
}

/// The settings that are given, and the usual ones for the rest.
fn settings(options: &Options<'_>) -> Result<Settings, Failed> {
    let usual = Settings::new(Rates::all(options.dropout.unwrap_or_default()));
    let length = match (options.epochs, options.steps) {
        (Some(_), Some(_)) => {
            return Err(Failed::invalid("epochs and steps are both given").hint("give one of them"));
        }
        (Some(epochs), None) => Length::Epochs(epochs),
        (None, Some(steps)) => Length::Steps(steps),
        (None, None) => usual.length,
    };
    let optimizer = Optimizer::new(parse(options.optimizer.as_deref())?.unwrap_or(usual.optimizer.rule));
    let settings = Settings {
        length,
        batch_size: options.batch_size.unwrap_or(usual.batch_size),
        accumulate: options.accumulate.unwrap_or(usual.accumulate),
        negatives: options.negatives_per_query.unwrap_or(usual.negatives),
        rate: options.lr.unwrap_or(usual.rate),
        schedule: parse(options.schedule.as_deref())?.unwrap_or(usual.schedule),
        warmup: options.warmup.map_or(usual.warmup, Warmup::of),
        optimizer: Optimizer {
            weight_decay: options.weight_decay.unwrap_or(optimizer.weight_decay),
            max_norm: options.max_grad_norm.or(optimizer.max_norm).filter(|norm| *norm != 0.0),
            ..optimizer
        },
        perturbation: options.perturb,
        seed: options.seed.unwrap_or(usual.seed),
        chunks: at_least_one("chunk_size", options.chunk_size)?.map_or(usual.chunks, Chunks::Sequences),
        save_every: options.save_every.unwrap_or(usual.save_every),
        keep: options.keep_checkpoints.unwrap_or(usual.keep),
        no_duplicates: options.no_duplicates,
        ..usual
    };
    settings.check()?;
    Ok(settings)
}
