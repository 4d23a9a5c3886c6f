//! A run: from the options to a trained model.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use indexmap::IndexMap;
use serde_json::json;
use toller_corpus::{ReadOptions, read_queries};
use toller_encoder::{
    CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, TokenClassifier, TokenClassifierOptions,
};
use toller_engine::Engine;
use toller_files::{Input, expand};
use toller_hub::{ModelSource, Origin};
use toller_ir::Role;
use toller_texts::TextsOptions;
use toller_train::{
    Chunks, CrossLoss, DualLoss, Ending, ExampleFile, Judged, Length, MarkedFile, Model, Optimizer, Rates,
    Report, Rule, Schedule, Settings, Similarity, Source, Task, Titles, TokenTask, Trainer, Warmup,
    read_negatives,
};

use super::args::{CrossArgs, DualArgs, DualLossName, RankingArgs, RunArgs, TokenArgs};
use super::{card, dev};
use crate::args::qrels::read_judgments;
use crate::engine;
use crate::error::UsageError;
use crate::interrupt::{self, Interrupted};
use crate::ui::{Ui, per_second};

/// Bytes that the tapes of an undivided batch take at most, about.
const CHUNK_BYTES: usize = 1 << 30;

pub fn dual(args: &DualArgs, ui: &Ui) -> crate::Result<()> {
    let engine = engine::open(ui)?;
    let (source, output) = open_model(&args.train.run, &engine)?;
    let directory = source.directory.clone();
    let query_model = args.query_model.as_ref().map(|name| engine.resolve(name)).transpose()?;
    let known = match source.origin {
        Origin::Known(model) => Some(model),
        Origin::Directory | Origin::Hub { .. } => None,
    };
    let load = |max_length: Option<u32>| {
        let options = LoadOptions {
            max_length: max_length.map(|length| length as usize),
            query_model: query_model.as_ref().map(|source| source.directory.clone()),
            pooling: args.pooling,
            known: known.clone(),
            ..LoadOptions::default()
        };
        DualEncoder::load(&directory, &options)
    };
    let queries = load(args.query_max_length.or(args.train.run.max_length))?;
    let passages = load(args.train.run.max_length)?;
    let model = Model::dual(&queries, args.untie, args.only)?;
    let is_unit = queries.tower(Role::Query).normalizes();
    let similarity = args.similarity.unwrap_or(if is_unit { Similarity::Cosine } else { Similarity::Dot });
    let temperature = args.temperature.unwrap_or(if similarity == Similarity::Cosine { 0.05 } else { 1.0 });
    if !(temperature > 0.0 && temperature.is_finite()) {
        return Err(UsageError::new(format!("--temperature {temperature}"), "give a number above 0").into());
    }
    let loss = match args.loss.unwrap_or(DualLossName::Contrastive) {
        DualLossName::Contrastive => {
            DualLoss::Contrastive { temperature, in_batch: !args.no_in_batch, symmetric: args.symmetric }
        }
        DualLossName::MarginMse => DualLoss::MarginMse,
        DualLossName::Kl => DualLoss::Divergence { temperature },
    };
    let rates = Rates::of_model(queries.tower(Role::Query).folder())?;
    let settings = ranking_settings(&args.train, rates)?;
    let titles = Titles::Joined(separator(&args.train));
    let task = Task::Dual { queries, passages, similarity, loss, titles };
    let what = format!("a dual encoder, similarity {similarity}");
    let card = card_of(&args.train, &what, &card::dual_loss(loss), &settings);
    train_ranking(task, model, settings, &args.train, (&engine, &output, &card), ui)
}

pub fn cross(args: &CrossArgs, ui: &Ui) -> crate::Result<()> {
    let engine = engine::open(ui)?;
    let (source, output) = open_model(&args.train.run, &engine)?;
    let max_length = args.train.run.max_length.map(|length| length as usize);
    // The label of a score does not matter here, and the first always exists.
    let options = CrossEncoderOptions { max_length, label: Some(0), ..CrossEncoderOptions::default() };
    let encoder = CrossEncoder::load(&source.directory, &options)?;
    let loss = args.loss.unwrap_or_else(|| CrossLoss::for_labels(encoder.labels().len()));
    loss.check(encoder.labels().len())?;
    let model = Model::cross(&encoder)?;
    let settings = ranking_settings(&args.train, Rates::of_model(encoder.folder())?)?;
    let task = Task::Cross { encoder, loss, separator: separator(&args.train) };
    let card = card_of(&args.train, "a cross-encoder", loss.name(), &settings);
    train_ranking(task, model, settings, &args.train, (&engine, &output, &card), ui)
}

pub fn token(args: &TokenArgs, ui: &Ui) -> crate::Result<()> {
    let engine = engine::open(ui)?;
    let (source, output) = open_model(&args.run, &engine)?;
    if args.data.is_empty() {
        return Err(UsageError::new("there is nothing to learn from", "give --data FILE").into());
    }
    let options = TokenClassifierOptions {
        max_length: args.run.max_length.map(|length| length as usize),
        new_labels: Some(TokenTask::LABELS.map(str::to_owned).to_vec()),
        ..TokenClassifierOptions::default()
    };
    let classifier = TokenClassifier::load(&source.directory, &options)?;
    if classifier.is_new() {
        ui.status("the model has no classifier of tokens: a new one starts with zeros");
    }
    let model = Model::tokens(&classifier)?;
    let settings = settings(&args.run, Rates::of_model(classifier.folder())?)?;
    let what = ("a token classifier of where segments end", "transformers");
    let loss = "softmax over the labels of each token";
    let card = card::of(what, args.run.model.as_deref(), args.data.iter(), loss, &settings);
    let stop = interrupt::flag(ui, STOPPING)?;
    let files = args.data.iter().map(|path| MarkedFile::open(path)).collect::<Result<Vec<_>, _>>()?;
    let task = TokenTask::new(classifier, files)?;
    let dev = dev::open_marked(args, &task)?;
    let trainer = Trainer::tokens(task, model, dev, settings, &output)?;
    train(trainer, &args.run, &output, &card, &stop, ui)
}

/// What a run says when it is interrupted.
const STOPPING: &str = "finishing the step and writing a checkpoint";

fn card_of(args: &RankingArgs, what: &str, loss: &str, settings: &Settings) -> String {
    let data = args.data.iter().chain(&args.queries).chain(&args.corpus);
    card::of((what, "sentence-transformers"), args.run.model.as_deref(), data, loss, settings)
}

fn open_model(args: &RunArgs, engine: &Engine) -> crate::Result<(ModelSource, PathBuf)> {
    let missing =
        |flag: &str| UsageError::new(format!("{flag} is missing"), format!("give {flag}, or --config"));
    let model = args.model.as_ref().ok_or_else(|| missing("--model"))?;
    let output = args.output.as_ref().ok_or_else(|| missing("--output"))?;
    output.check_directory("the output of training")?;
    Ok((engine.resolve(model)?, output.into()))
}

fn separator(args: &RankingArgs) -> String {
    args.title_separator.clone().unwrap_or_else(|| " ".to_owned())
}

fn ranking_settings(args: &RankingArgs, own: Rates) -> Result<Settings, UsageError> {
    let negatives = args.negatives_per_query.map_or(1, |negatives| negatives as usize);
    Ok(Settings { negatives, ..settings(&args.run, own)? })
}

/// The settings without negatives.
fn settings(args: &RunArgs, own: Rates) -> Result<Settings, UsageError> {
    let usage = |flag: &str, number: f64, range: &str| {
        UsageError::new(format!("{flag} {number}"), format!("give {range}"))
    };
    let (lr, warmup) = (args.lr.unwrap_or(2e-5), args.warmup.unwrap_or(0.1));
    if !(lr > 0.0 && lr.is_finite()) {
        return Err(usage("--lr", lr, "a number above 0"));
    }
    if !(warmup >= 0.0 && warmup.is_finite()) {
        return Err(usage("--warmup", warmup, "0, a share below 1, or a number of steps"));
    }
    if let Some(rate) = args.dropout.filter(|rate| !(0.0..1.0).contains(rate)) {
        return Err(usage("--dropout", rate.into(), "a number from 0 to below 1"));
    }
    if let Some(epochs) = args.epochs.filter(|epochs| !(*epochs > 0.0 && epochs.is_finite())) {
        return Err(usage("--epochs", epochs, "a number above 0"));
    }
    if let Some(epsilon) = args.perturb.filter(|epsilon| !(*epsilon > 0.0 && epsilon.is_finite())) {
        return Err(usage("--perturb", epsilon, "a number above 0"));
    }
    let count = |number: Option<u32>, default: usize| number.map_or(default, |number| number as usize);
    let rule = Optimizer::new(args.optimizer.unwrap_or(Rule::AdamW));
    Ok(Settings {
        length: args.steps.map_or(Length::Epochs(args.epochs.unwrap_or(1.0)), Length::Steps),
        batch_size: count(args.batch_size, 32),
        accumulate: count(args.accumulate, 1),
        negatives: 0,
        rate: lr,
        schedule: args.schedule.unwrap_or(Schedule::Linear),
        warmup: if warmup < 1.0 { Warmup::Share(warmup) } else { Warmup::Steps(warmup as u64) },
        optimizer: Optimizer {
            weight_decay: args.weight_decay.unwrap_or(0.0),
            max_norm: Some(args.max_grad_norm.unwrap_or(1.0)).filter(|norm| *norm > 0.0),
            ..rule
        },
        dropout: args.dropout.map_or(own, Rates::all),
        perturbation: args.perturb,
        seed: args.seed.unwrap_or(42),
        chunks: args.chunk_size.map_or(Chunks::Bytes(CHUNK_BYTES), |size| Chunks::Sequences(size as usize)),
        save_every: args.save_every.unwrap_or(500),
        keep: count(args.keep_checkpoints, 2),
    })
}

/// The examples.
fn examples(args: &RankingArgs, engine: &Engine, ui: &Ui) -> crate::Result<Source> {
    if args.data.is_empty() && args.queries.is_none() {
        let remedy = "give --data FILE, or --queries, --corpus and --qrels";
        return Err(UsageError::new("there is nothing to learn from", remedy).into());
    }
    let files = args.data.iter().map(|path| ExampleFile::open(path)).collect::<Result<Vec<_>, _>>()?;
    let judged = args.queries.as_ref().map(|path| judged(args, &path.input(), ui)).transpose()?;
    let texts = if args.corpus.is_empty() {
        None
    } else {
        Some(engine.texts(&expand(&args.corpus)?, &TextsOptions::default())?)
    };
    Ok(Source::new(files, judged, texts))
}

fn judged(args: &RankingArgs, queries: &Input, ui: &Ui) -> crate::Result<Judged> {
    let (Some(qrels), false) = (&args.qrels, args.corpus.is_empty()) else {
        return Err(
            UsageError::new("--queries needs judgments and texts", "give --qrels and --corpus").into()
        );
    };
    let (queries, _) = read_queries(std::slice::from_ref(queries), &ReadOptions::default())?;
    let qrels = read_judgments(qrels, None, false, ui)?;
    let negatives = match &args.negatives {
        Some(path) => read_negatives(path)?,
        None => IndexMap::new(),
    };
    Ok(Judged::new(&queries, &qrels, args.relevance_level.unwrap_or(1), &negatives))
}

fn train_ranking(
    task: Task,
    model: Model,
    settings: Settings,
    args: &RankingArgs,
    (engine, output, card): (&Engine, &Path, &str),
    ui: &Ui,
) -> crate::Result<()> {
    let stop = interrupt::flag(ui, STOPPING)?;
    let source = examples(args, engine, ui)?;
    let dev = dev::open(args, &task, engine, ui)?;
    let trainer = Trainer::new(task, model, source, dev, settings, output)?;
    train(trainer, &args.run, output, card, &stop, ui)
}

fn train(
    mut trainer: Trainer,
    args: &RunArgs,
    output: &Path,
    card: &str,
    stop: &AtomicBool,
    ui: &Ui,
) -> crate::Result<()> {
    let (done, total) = (trainer.step(), trainer.total());
    if done > 0 {
        ui.status(format!("going on after step {done} of {total}"));
    }
    let bar = ui.progress("training", "steps", total);
    bar.already_done(done);
    let (mut last, mut tokens, mut seconds) = (None, 0, 0.0);
    let ending = trainer.run(stop, card, |report| match report {
        Report::Step(step) => {
            (tokens, seconds, last) = (tokens + step.tokens, seconds + step.seconds, Some(step.loss));
            bar.message(format!("loss {:.4}", step.loss));
            bar.set(step.step);
            ui.detail(format!(
                "step {}: loss {:.5}, rate {:.3e}, norm {:.3}, {} tokens, {:.2} s",
                step.step, step.loss, step.rate, step.norm, step.tokens, step.seconds
            ));
        }
        Report::Evaluating => bar.message("evaluating".to_owned()),
        Report::Evaluated(evaluation) => ui.status(dev::line(evaluation)),
    })?;
    drop(bar);
    if ending == Ending::Stopped {
        let resume = "the same command goes on".to_owned();
        return Err(Interrupted { resume }.into());
    }
    let (steps, best) = (trainer.step(), trainer.best());
    let rate = per_second(steps - done, seconds);
    ui.status(format!("{}: trained, {steps} steps, {rate:.2} steps/s", output.display()));
    if let Some(best) = best.filter(|best| best.step != steps && !args.save_last) {
        ui.status(format!("saved the model of step {}, the best on the dev set", best.step));
    }
    let best = best.map(|best| json!({"step": best.step, "measures": best.measures}));
    ui.json(|| {
        json!({"output": output, "steps": steps, "loss": last, "tokens": tokens, "seconds": seconds, "best": best})
    })
}
