//! A run: from the options to a trained model.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::json;
use toller_corpus::{ReadOptions, read_queries};
use toller_encoder::{
    CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, NewHead, NewPrefix, TokenClassifier,
    TokenClassifierOptions,
};
use toller_engine::Engine;
use toller_files::{Input, expand};
use toller_hub::{ModelSource, Origin};
use toller_ir::{Role, counted};
use toller_texts::{Texts, TextsOptions};
use toller_train::{
    Chunks, CrossLoss, DualObjective, Ending, ExampleFile, Inspected, Judged, LeftOut, Length, MarkedFile,
    Model, Negatives, Optimizer, Rates, Report, Settings, Source, Task, Titles, TokenTask, TrainError,
    Trainer, Warmup, card, read_negatives, token_card,
};

use super::args::{CrossArgs, DualArgs, RankingArgs, RunArgs, TokenArgs};
use super::compute::compute;
use super::dev;
use crate::args::paths::InputPath;
use crate::args::qrels::read_judgments;
use crate::engine;
use crate::error::{Failure, UsageError};
use crate::interrupt::{self, Interrupted};
use crate::ui::{Ui, per_second};

pub fn dual(args: &DualArgs, ui: &Ui) -> crate::Result<()> {
    let engine = engine::open(ui)?;
    let (source, output) = open_model(&args.train.run, &engine)?;
    let directory = source.directory.clone();
    let query_model = args.query_model.as_ref().map(|name| engine.resolve(name)).transpose()?;
    let known = match source.origin {
        Origin::Known(model) => Some(model),
        Origin::Directory | Origin::Hub { .. } => None,
    };
    let seed = args.train.run.seed.unwrap_or(Settings::new(Rates::default()).seed);
    let load = |max_length: Option<u32>| {
        let options = LoadOptions {
            max_length: max_length.map(|length| length as usize),
            query_model: query_model.as_ref().map(|source| source.directory.clone()),
            pooling: args.pooling,
            new_prefix: args.prefix_tokens.map(|tokens| NewPrefix { tokens: tokens as usize, seed }),
            known: known.clone(),
            ..LoadOptions::default()
        };
        DualEncoder::load(&directory, &options)
    };
    let queries = load(args.query_max_length.or(args.train.run.max_length))?;
    let passages = load(args.train.run.max_length)?;
    let model = Model::dual(&queries, args.untie, args.only, &compute(&args.train.run, &engine)?)?;
    let is_unit = queries.tower(Role::Query).normalizes();
    let objective = DualObjective {
        loss: args.loss.unwrap_or_default(),
        similarity: args.similarity,
        temperature: args.temperature,
        no_in_batch: args.no_in_batch,
        symmetric: args.symmetric,
    };
    let (similarity, loss) = objective.complete(is_unit).map_err(usage)?;
    let dropout = Rates::of_model(queries.tower(Role::Query).folder())?;
    let settings = ranking_settings(&args.train, args.no_duplicates, dropout)?;
    let titles = Titles::Joined(separator(&args.train));
    let task = Task::Dual { queries, passages, similarity, loss, titles };
    train_ranking(task, model, settings, &args.train, (&engine, &output), ui)
}

pub fn cross(args: &CrossArgs, ui: &Ui) -> crate::Result<()> {
    let engine = engine::open(ui)?;
    let (source, output) = open_model(&args.train.run, &engine)?;
    let max_length = args.train.run.max_length.map(|length| length as usize);
    let seed = args.train.run.seed.unwrap_or(Settings::new(Rates::default()).seed);
    let labels = args.labels.map_or_else(|| CrossLoss::new_labels(args.loss), |labels| labels as usize);
    let options = CrossEncoderOptions {
        max_length,
        truncation: args.truncation.unwrap_or_default(),
        // The label of a score does not matter here, and the first always exists.
        label: Some(0),
        new_head: Some(NewHead { labels, seed }),
        ..CrossEncoderOptions::default()
    };
    let encoder = CrossEncoder::load(&source.directory, &options)?;
    let found = encoder.labels().len();
    if encoder.new_class().is_some() {
        let labels = counted(found, "label");
        ui.status(format!("the model has no classifier: a new one with {labels} starts with random weights"));
    } else if args.labels.is_some() && found != labels {
        let message =
            format!("--labels {labels}: the model has a classifier with {}", counted(found, "label"));
        return Err(
            UsageError::new(message, "leave --labels out; it is for a model without a classifier").into()
        );
    }
    let loss = args.loss.unwrap_or_else(|| CrossLoss::for_labels(found));
    loss.check(found)?;
    let model = Model::cross(&encoder, &compute(&args.train.run, &engine)?)?;
    let settings = ranking_settings(&args.train, false, Rates::of_model(encoder.folder())?)?;
    let task = Task::Cross { encoder, loss, separator: separator(&args.train) };
    train_ranking(task, model, settings, &args.train, (&engine, &output), ui)
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
    let model = Model::tokens(&classifier, &compute(&args.run, &engine)?)?;
    let own = Rates::of_model(classifier.folder())?;
    let settings = settings(&args.run, Settings { negatives: 0, ..Settings::new(own) })?;
    let card = token_card(args.run.model.as_deref().unwrap_or_default(), &file_names(&args.data), &settings);
    let stop = interrupt::flag(ui, STOPPING)?;
    let files = args.data.iter().map(|path| MarkedFile::open(path)).collect::<Result<Vec<_>, _>>()?;
    let task = TokenTask::new(classifier, files)?;
    let dev = dev::open_marked(args, &task)?;
    let trainer = Trainer::tokens(task, model, dev, settings, &output)?;
    train(trainer, &args.run, &output, &card, &stop, ui)
}

/// What a run says when it is interrupted.
const STOPPING: &str = "finishing the step and writing a checkpoint";

/// The names of files, without their folders.
fn file_names<'a>(files: impl IntoIterator<Item = &'a InputPath>) -> Vec<String> {
    let names = files.into_iter().filter_map(|path| path.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
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

fn ranking_settings(args: &RankingArgs, no_duplicates: bool, own: Rates) -> crate::Result<Settings> {
    let negatives = args.negatives_per_query.map(|negatives| negatives as usize);
    let default = Settings::new(own);
    let negatives = negatives.unwrap_or(default.negatives);
    settings(&args.run, Settings { negatives, no_duplicates, ..default })
}

/// The settings that the flags give, and for the rest the default.
fn settings(args: &RunArgs, default: Settings) -> crate::Result<Settings> {
    let count = |number: Option<u32>, default: usize| number.map_or(default, |number| number as usize);
    let optimizer = Optimizer::new(args.optimizer.unwrap_or(default.optimizer.rule));
    let settings = Settings {
        length: args.steps.map(Length::Steps).or(args.epochs.map(Length::Epochs)).unwrap_or(default.length),
        batch_size: count(args.batch_size, default.batch_size),
        accumulate: count(args.accumulate, default.accumulate),
        rate: args.lr.unwrap_or(default.rate),
        schedule: args.schedule.unwrap_or(default.schedule),
        warmup: args.warmup.map_or(default.warmup, Warmup::of),
        optimizer: Optimizer {
            weight_decay: args.weight_decay.unwrap_or(optimizer.weight_decay),
            max_norm: args.max_grad_norm.or(optimizer.max_norm).filter(|norm| *norm != 0.0),
            ..optimizer
        },
        dropout: args.dropout.map_or(default.dropout, Rates::all),
        perturbation: args.perturb,
        seed: args.seed.unwrap_or(default.seed),
        chunks: args.chunk_size.map_or(default.chunks, |size| Chunks::Sequences(size as usize)),
        save_every: args.save_every.unwrap_or(default.save_every),
        keep: count(args.keep_checkpoints, default.keep),
        ..default
    };
    settings.check().map_err(usage)?;
    Ok(settings)
}

/// A number outside of its range, and a setting without effect, is a wrong flag.
fn usage(error: TrainError) -> Failure {
    let flag = |setting: &str| format!("--{}", setting.replace('_', "-"));
    match error {
        TrainError::OutOfRange { setting, value, range } => {
            UsageError::new(format!("{} {value}", flag(setting)), format!("give {range}")).into()
        }
        TrainError::NoEffect { setting, reason } => {
            let flag = flag(setting);
            UsageError::new(format!("{flag} has no effect: {reason}"), format!("leave {flag} out")).into()
        }
        error => error.into(),
    }
}

/// The examples.
fn examples(args: &RankingArgs, engine: &Engine, ui: &Ui) -> crate::Result<Source> {
    if args.data.is_empty() && args.queries.is_none() {
        let remedy = "give --data FILE, or --queries, --corpus and --qrels";
        return Err(UsageError::new("there is nothing to learn from", remedy).into());
    }
    let of_queries = [
        ("--qrels", args.qrels.is_some()),
        ("--negatives", args.negatives.is_some()),
        ("--relevance-level", args.relevance_level.is_some() && args.dev.dev_qrels.is_none()),
    ];
    if let (None, Some((flag, _))) = (&args.queries, of_queries.into_iter().find(|(_, is_given)| *is_given)) {
        let message = format!("{flag} is for --queries, which is not given");
        return Err(UsageError::new(message, format!("give --queries, or leave {flag} out")).into());
    }
    let files = args.data.iter().map(|path| ExampleFile::open(path)).collect::<Result<Vec<_>, _>>()?;
    let texts = if args.corpus.is_empty() {
        None
    } else {
        let reading = ReadOptions { skip_bad_lines: args.skip_bad_lines, ..ReadOptions::default() };
        Some(engine.texts(&expand(&args.corpus)?, &TextsOptions { reading, ..TextsOptions::default() })?)
    };
    let judged =
        args.queries.as_ref().map(|path| judged(args, &path.input(), texts.as_ref(), ui)).transpose()?;
    Ok(Source::new(files, judged, texts))
}

fn judged(args: &RankingArgs, queries: &Input, texts: Option<&Texts>, ui: &Ui) -> crate::Result<Judged> {
    let (Some(qrels), Some(texts)) = (&args.qrels, texts) else {
        return Err(
            UsageError::new("--queries needs judgments and texts", "give --qrels and --corpus").into()
        );
    };
    let reading = ReadOptions { skip_bad_lines: args.skip_bad_lines, ..ReadOptions::default() };
    let (found, skipped) = read_queries(std::slice::from_ref(queries), &reading)?;
    ui.skipped(&format!("{queries}: "), &skipped);
    let qrels = read_judgments(qrels, None, args.skip_bad_lines, ui)?;
    let negatives = match &args.negatives {
        Some(path) => read_negatives(path)?,
        None => Negatives::default(),
    };
    let level = args.relevance_level.unwrap_or(1);
    let judged = Judged::new(&found, &qrels, level, negatives, |id| texts.contains(id))?;
    let LeftOut { queries, .. } = judged.left_out();
    if *queries > 0 {
        ui.status(format!("{} without a relevant document left out", counted(*queries, "query")));
    }
    judged.left_out().problems().for_each(|problem| ui.warning(problem));
    Ok(judged)
}

fn train_ranking(
    task: Task,
    model: Model,
    settings: Settings,
    args: &RankingArgs,
    (engine, output): (&Engine, &Path),
    ui: &Ui,
) -> crate::Result<()> {
    let stop = interrupt::flag(ui, STOPPING)?;
    let source = examples(args, engine, ui)?;
    let dev = dev::open(args, &task, engine, ui)?;
    let files =
        args.data.iter().chain(&args.queries).chain(&args.qrels).chain(&args.negatives).chain(&args.corpus);
    let name = args.run.model.as_deref().unwrap_or_default();
    let card = card(name, &file_names(files), &task, &model, &settings);
    let trainer = Trainer::new(task, model, source, dev, settings, output).map_err(usage)?;
    train(trainer, &args.run, output, &card, &stop, ui)
}

/// Says what is learned from.
fn describe(found: &Inspected, steps: u64, ui: &Ui) {
    let Inspected { examples, with_negatives, repeated, is_apart } = *found;
    let examples = counted(examples, "example");
    ui.status(format!(
        "{examples}, {with_negatives} of them with negatives of their own; {}",
        counted(steps, "step")
    ));
    if repeated > 0 && !is_apart {
        ui.status(format!(
            "{repeated} of them have a positive of another one. In a batch it is taken for a negative; \
             --no-duplicates keeps them apart"
        ));
    }
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
    for error in trainer.damaged() {
        ui.warning(format!("{error}; going on from the checkpoint before it"));
    }
    if let Some(found) = trainer.inspected() {
        describe(&found, total, ui);
    }
    if 0 < done && done < total {
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
    let (shown, all) = (output.display(), counted(steps, "step"));
    ui.status(match per_second(steps - done, seconds) {
        _ if steps == done => format!("{shown} is complete after {all}; nothing to do"),
        rate => format!("{shown}: trained, {all}, {rate:.2} steps/s"),
    });
    if let Some(best) = best.filter(|best| best.step != steps && !args.save_last) {
        ui.status(format!("saved the model of step {}, the best on the dev set", best.step));
    }
    let best = best.map(|best| json!({"step": best.step, "measures": best.measures}));
    ui.json(|| {
        json!({"output": output, "steps": steps, "loss": last, "tokens": tokens, "seconds": seconds, "best": best})
    })
}
