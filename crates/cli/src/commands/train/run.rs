//! A run: from the options to a trained model.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::json;
use toller_engine::{Engine, EngineError, Training};
use toller_hub::ModelSource;
use toller_ir::counted;
use toller_train::{
    CrossRun, DualObjective, DualRun, Ending, Inspected, Length, Plan, Report, RunOptions, TokenRun,
    TrainError,
};

use super::args::{CrossArgs, DualArgs, RankingArgs, RunArgs, TokenArgs};
use super::compute::compute;
use super::data::{check_data, data};
use super::dev;
use super::losses::Losses;
use crate::args::paths::InputPath;
use crate::engine;
use crate::error::{Failure, UsageError};
use crate::flags;
use crate::interrupt::{self, Interrupted};
use crate::ui::{Ui, per_second};

pub fn dual(args: &DualArgs, ui: &Ui) -> crate::Result<()> {
    check_data(&args.train.data)?;
    let engine = engine::open(ui)?;
    let (source, output) = open_model(&args.train.run, &engine)?;
    let query_model = args.query_model.as_ref().map(|name| engine.resolve(name)).transpose()?;
    let run = DualRun {
        known: source.known(),
        model: source.directory,
        query_model: query_model.map(|source| source.directory),
        options: RunOptions { no_duplicates: args.no_duplicates, ..ranking_options(&args.train) },
        query_max_length: args.query_max_length.map(|length| length as usize),
        query_prompt: args.query_prompt.clone(),
        passage_prompt: args.passage_prompt.clone(),
        pooling: args.pooling,
        title_mode: args.title_mode,
        prefix_tokens: args.prefix_tokens.map(|tokens| tokens as usize),
        untie: args.untie,
        only: args.only,
        objective: DualObjective {
            loss: args.loss.unwrap_or_default(),
            similarity: args.similarity,
            temperature: args.temperature,
            no_in_batch: args.no_in_batch,
            symmetric: args.symmetric,
        },
    };
    let plan = run.open(&compute(&args.train.run, &engine)?).map_err(usage)?;
    train_ranking(plan, &args.train, (&engine, &output), ui)
}

pub fn cross(args: &CrossArgs, ui: &Ui) -> crate::Result<()> {
    check_data(&args.train.data)?;
    let engine = engine::open(ui)?;
    let (source, output) = open_model(&args.train.run, &engine)?;
    let run = CrossRun {
        model: source.directory,
        options: ranking_options(&args.train),
        loss: args.loss,
        truncation: args.truncation.unwrap_or_default(),
        labels: args.labels.map(|labels| labels as usize),
    };
    let plan = run.open(&compute(&args.train.run, &engine)?).map_err(usage)?;
    if let Some(labels) = plan.new_labels {
        let labels = counted(labels, "label");
        ui.status(format!("the model has no classifier: a new one with {labels} starts with random weights"));
    }
    train_ranking(plan, &args.train, (&engine, &output), ui)
}

pub fn token(args: &TokenArgs, ui: &Ui) -> crate::Result<()> {
    check_data(args.data.iter().chain(&args.dev_data))?;
    let engine = engine::open(ui)?;
    let (source, output) = open_model(&args.run, &engine)?;
    let run =
        TokenRun { model: source.directory, options: options(&args.run), data: InputPath::all(&args.data) };
    let plan = run.open(&compute(&args.run, &engine)?).map_err(usage)?;
    if plan.new_labels.is_some() {
        ui.status("the model has no classifier of tokens: a new one starts with zeros");
    }
    let stop = interrupt::flag(ui, STOPPING)?;
    let name = args.run.model.as_deref().unwrap_or_default();
    let training = engine.token_trainer(plan, name, dev::marked(args)?, &output).map_err(usage)?;
    train(training, &args.run, &output, &stop, ui)
}

/// What a run says when it is interrupted.
const STOPPING: &str = "finishing the step and writing a checkpoint";

fn open_model(args: &RunArgs, engine: &Engine) -> crate::Result<(ModelSource, PathBuf)> {
    let missing =
        |flag: &str| UsageError::new(format!("{flag} is missing"), format!("give {flag}, or --config"));
    let model = args.model.as_ref().ok_or_else(|| missing("--model"))?;
    let output = args.output.as_ref().ok_or_else(|| missing("--output"))?;
    output.check_directory("the output of training")?;
    Ok((engine.resolve(model)?, output.into()))
}

fn ranking_options(args: &RankingArgs) -> RunOptions {
    RunOptions {
        negatives: args.negatives_per_query.map(|negatives| negatives as usize),
        separator: args.title_separator.clone(),
        ..options(&args.run)
    }
}

fn options(args: &RunArgs) -> RunOptions {
    let count = |number: Option<u32>| number.map(|number| number as usize);
    RunOptions {
        length: args.steps.map(Length::Steps).or(args.epochs.map(Length::Epochs)),
        batch_size: count(args.batch_size),
        accumulate: count(args.accumulate),
        rate: args.lr,
        schedule: args.schedule,
        warmup: args.warmup,
        optimizer: args.optimizer,
        weight_decay: args.weight_decay,
        max_norm: args.max_grad_norm,
        dropout: args.dropout,
        perturbation: args.perturb,
        seed: args.seed,
        chunk_size: count(args.chunk_size),
        save_every: args.save_every,
        keep: count(args.keep_checkpoints),
        max_length: count(args.max_length),
        ..RunOptions::default()
    }
}

/// Options that cannot be used, alone or together, are wrong flags.
fn usage(error: impl Into<EngineError>) -> Failure {
    let flag = |setting: &str| format!("--{}", setting.replace('_', "-"));
    match error.into() {
        EngineError::Train(TrainError::OutOfRange { setting, value, range }) => {
            UsageError::new(format!("{} is {value}", flag(setting)), format!("give {range}")).into()
        }
        EngineError::Train(TrainError::NoEffect { setting, reason }) => {
            let flag = flag(setting);
            UsageError::new(format!("{flag} has no effect: {reason}"), format!("leave {flag} out")).into()
        }
        EngineError::Train(TrainError::Options { problem, remedy }) => {
            UsageError::new(flags::spelled(&problem, flags::flag), remedy).into()
        }
        EngineError::Train(TrainError::Stopped) => {
            Interrupted { resume: "run the same command again".to_owned() }.into()
        }
        error => error.into(),
    }
}

fn train_ranking(
    plan: Plan,
    args: &RankingArgs,
    (engine, output): (&Engine, &Path),
    ui: &Ui,
) -> crate::Result<()> {
    let stop = interrupt::flag(ui, STOPPING)?;
    let name = args.run.model.as_deref().unwrap_or_default();
    let training = engine.trainer(plan, name, data(args, ui)?, output, &stop).map_err(usage)?;
    train(training, &args.run, output, &stop, ui)
}

/// Says what is learned from.
fn describe(found: &Inspected, steps: u64, ui: &Ui) {
    let (examples, with_negatives) = (counted(found.examples, "example"), found.with_negatives);
    ui.status(format!(
        "{examples}, {with_negatives} of them with negatives of their own; {}",
        counted(steps, "step")
    ));
}

fn train(training: Training, args: &RunArgs, output: &Path, stop: &AtomicBool, ui: &Ui) -> crate::Result<()> {
    let Training { mut trainer, card } = training;
    let (done, total) = (trainer.step(), trainer.total());
    if let Some(found) = trainer.inspected() {
        describe(found, total, ui);
    }
    if done > 0 && !trainer.is_over() {
        ui.status(format!("going on after step {done} of {total}"));
    }
    let bar = ui.progress("training", "steps", total);
    bar.already_done(done);
    let (mut losses, mut tokens, mut seconds) = (Losses::default(), 0, 0.0);
    let ending = trainer.run(stop, &card, |report| match report {
        Report::Step(step) => {
            (tokens, seconds) = (tokens + step.tokens, seconds + step.seconds);
            if losses.push(step.loss, step.norm) {
                ui.warning(format!(
                    "step {}: the gradient has been zero for some steps, so nothing is learned; if the loss is \
                     not zero either, try a smaller --lr",
                    step.step
                ));
            }
            bar.message(format!("loss {:.4}", step.loss));
            bar.set(step.step);
            ui.detail(format!(
                "step {}: loss {:.5}, rate {:.3e}, norm {:.3}, {} tokens, {:.2} s",
                step.step, step.loss, step.rate, step.norm, step.tokens, step.seconds
            ));
        }
        Report::Evaluating => bar.message("evaluating".to_owned()),
        Report::Evaluated(evaluation) => ui.status(dev::line(evaluation)),
        Report::Crowded(crowded) => ui.warning(crowded.to_string()),
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
        rate => format!("{shown}: trained, {all}, {rate:.2} steps/s{}", losses.mean()),
    });
    if trainer.saves_untrained() {
        ui.warning("saved the model of step 0, the best on the dev set: training has not made it better");
    } else if let Some(best) = best.filter(|best| best.step != steps && !args.save_last) {
        ui.status(format!("saved the model of step {}, the best on the dev set", best.step));
    }
    let best = best.map(|best| json!({"step": best.step, "measures": best.measures}));
    ui.json(|| {
        json!({"output": output, "steps": steps, "loss": losses.last(), "tokens": tokens, "seconds": seconds, "best": best})
    })
}
