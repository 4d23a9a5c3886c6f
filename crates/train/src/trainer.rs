//! A run: steps over batches, a log, checkpoints, and the trained model.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;
use toller_files::{FileError, is_sealed, names_in, write_sealed};

use crate::TrainError;
use crate::checkpoint::Checkpoints;
use crate::data::{Order, Source, window};
use crate::dropout::{Dropout, Rates};
use crate::model::{Chunks, Model};
use crate::network::Gradients;
use crate::optimizer::{Moments, Optimizer, Schedule, Warmup, global_norm};
use crate::save::save;
use crate::task::{Picked, Task};

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Passes over the examples. Those that do not fill a last batch wait for the next epoch's order.
    Epochs(f64),
    /// Changes of the parameters.
    Steps(u64),
}

/// The settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How long it is.
    pub length: Length,
    /// Examples of a batch.
    pub batch_size: usize,
    /// Batches whose gradients are added for a step.
    pub accumulate: usize,
    /// Negatives of each example, at most.
    pub negatives: usize,
    /// The largest learning rate.
    pub rate: f64,
    /// How the learning rate changes.
    pub schedule: Schedule,
    /// How long it rises.
    pub warmup: Warmup,
    /// How gradients change parameters.
    pub optimizer: Optimizer,
    /// What is dropped.
    pub dropout: Rates,
    /// Decides batches, choices and dropout.
    pub seed: u64,
    /// How a batch is divided.
    pub chunks: Chunks,
    /// Steps between checkpoints; 0 for none but at an interruption.
    pub save_every: u64,
    /// Checkpoints that are kept.
    pub keep: usize,
}

/// A run of training.
pub struct Trainer {
    task: Task,
    model: Model,
    source: Source,
    settings: Settings,
    output: PathBuf,
    checkpoints: Checkpoints,
    moments: Vec<Moments>,
    gradients: Vec<Gradients>,
    step: u64,
    total: u64,
    order: Option<(u64, Order)>,
}

/// A finished step, as a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// Its number, from 1.
    pub step: u64,
    /// All steps.
    pub total: u64,
    /// Passes over the examples so far.
    pub epoch: f64,
    /// The loss before the step.
    pub loss: f64,
    /// The learning rate.
    pub rate: f64,
    /// The norm of the gradient, before it is clipped.
    pub norm: f64,
    /// Tokens of the batches.
    pub tokens: usize,
    /// What the step took.
    pub seconds: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model is trained and saved.
    Trained,
    /// The run was stopped; the same command goes on.
    Stopped,
}

/// The files of a run in its output.
const RUN: &str = "run.json";
const LOG: &str = "log.jsonl";
const CHECKPOINTS: &str = "checkpoints";

impl Trainer {
    /// Prepares a run, or goes on with the one that `output` holds.
    ///
    /// # Errors
    /// When there are too few examples, or `output` holds something else.
    pub fn new(
        task: Task,
        mut model: Model,
        source: Source,
        settings: Settings,
        output: &Path,
    ) -> Result<Self, TrainError> {
        let per_epoch = source.len() / settings.batch_size.max(1);
        if per_epoch == 0 {
            return Err(TrainError::TooFew { examples: source.len(), batch: settings.batch_size });
        }
        let total = match settings.length {
            Length::Steps(steps) => steps,
            Length::Epochs(epochs) => {
                ((epochs * per_epoch as f64 / settings.accumulate.max(1) as f64) as u64).max(1)
            }
        };
        claim(output, &describe(&task, &source, &settings, total))?;
        let mut moments: Vec<Moments> =
            model.towers().iter().map(|tower| Moments::zeros(tower.weights())).collect();
        let checkpoints = Checkpoints::new(output.join(CHECKPOINTS))?;
        let step = checkpoints.read(&mut model, &mut moments)?.unwrap_or(0);
        cut_log(&output.join(LOG), step)?;
        let gradients = model.zeros();
        let output = output.to_owned();
        Ok(Self {
            task,
            model,
            source,
            settings,
            output,
            checkpoints,
            moments,
            gradients,
            step,
            total,
            order: None,
        })
    }

    /// Steps that are done.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// All steps.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The model as it is now.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Does the steps that are left, and saves the model with `card` as its README. Once `stop` is set,
    /// writes a checkpoint instead and returns.
    ///
    /// # Errors
    /// When a record is bad, the loss is no number, or a file cannot be written.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        card: &str,
        mut on_step: impl FnMut(&StepReport),
    ) -> Result<Ending, TrainError> {
        let log_path = self.output.join(LOG);
        let mut log: File = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log_path)
            .map_err(FileError::on("open", &log_path))?;
        while self.step < self.total {
            let report = self.advance()?;
            let line = serde_json::to_string(&report)
                .map_err(|error| FileError::new("write", &log_path, error.into()))?;
            writeln!(log, "{line}").map_err(FileError::on("write", &log_path))?;
            on_step(&report);
            let is_due = self.settings.save_every > 0 && self.step.is_multiple_of(self.settings.save_every);
            let stops = stop.load(Ordering::Relaxed);
            if is_due || stops || self.step == self.total {
                log.sync_data().map_err(FileError::on("write", &log_path))?;
                self.checkpoints.write(self.step, &self.model, &self.moments, self.settings.keep)?;
            }
            if stops && self.step < self.total {
                return Ok(Ending::Stopped);
            }
        }
        save(&self.task, &self.model, &self.output, card)?;
        Ok(Ending::Trained)
    }

    /// One step.
    fn advance(&mut self) -> Result<StepReport, TrainError> {
        let started = Instant::now();
        let Settings { accumulate, schedule, warmup, rate, optimizer, chunks, dropout, seed, .. } =
            self.settings;
        let accumulate = accumulate.max(1) as u64;
        self.gradients.iter_mut().for_each(Gradients::reset);
        let masks = (dropout != Rates::default()).then(|| Dropout::new(dropout, seed, self.step));
        let (mut loss, mut tokens) = (0.0, 0);
        for part in 0..accumulate {
            let batch = self.batch(self.step * accumulate + part)?;
            let (mut inputs, groups) = self.task.inputs(&batch)?;
            inputs.first = [part << PART_SHIFT; 2];
            tokens += inputs.texts.iter().flatten().map(toller_tokenizer::Tokens::len).sum::<usize>();
            let scale = 1.0 / accumulate as f64;
            let task = &self.task;
            let grade = |results| {
                let mut graded = task.grade(&groups, results)?;
                graded.gradients.iter_mut().flatten().for_each(|gradient| *gradient *= scale);
                Ok(graded)
            };
            loss += scale * self.model.gradient(&inputs, masks, chunks, grade, &mut self.gradients)?;
        }
        self.step += 1;
        let norm = global_norm(&self.gradients);
        for (what, number) in [("loss", loss), ("gradient", norm)] {
            if !number.is_finite() {
                return Err(TrainError::NotFinite { what, step: self.step });
            }
        }
        let rate = rate * schedule.factor(self.step - 1, warmup.steps(self.total), self.total);
        for index in 0..self.gradients.len() {
            if !self.model.trains(index) {
                continue;
            }
            if let Some(weights) = self.model.towers_mut()[index].weights_mut() {
                let (gradients, moments) = (&self.gradients[index], &mut self.moments[index]);
                optimizer.apply(weights, gradients, moments, (self.step, rate, norm));
            }
        }
        let epoch = (self.step * accumulate) as f64 / self.batches() as f64;
        let seconds = started.elapsed().as_secs_f64();
        Ok(StepReport { step: self.step, total: self.total, epoch, loss, rate, norm, tokens, seconds })
    }

    /// Batches of an epoch.
    fn batches(&self) -> u64 {
        (self.source.len() / self.settings.batch_size) as u64
    }

    /// The batch of a number in the run.
    fn batch(&mut self, number: u64) -> Result<Vec<Picked>, TrainError> {
        let (epoch, index) = (number / self.batches(), number % self.batches());
        let Settings { seed, batch_size, .. } = self.settings;
        if self.order.as_ref().is_none_or(|(ordered, _)| *ordered != epoch) {
            self.order = Some((epoch, Order::new(self.source.len(), seed, epoch)));
        }
        let Some((_, order)) = &self.order else { return Ok(Vec::new()) };
        let examples = order.batch(index as usize, batch_size);
        examples.par_iter().map(|&example| self.pick(example, epoch)).collect()
    }

    /// An example with its passages of an epoch.
    fn pick(&self, index: u32, epoch: u64) -> Result<Picked, TrainError> {
        let Settings { seed, negatives, .. } = self.settings;
        let example = self.source.get(index as usize)?;
        let positive = window(example.positives.len(), 1, seed, index.into(), epoch);
        let negative = window(example.negatives.len(), negatives, seed, index.into(), epoch);
        let chosen = positive.into_iter().map(|at| &example.positives[at]);
        let chosen = chosen.chain(negative.into_iter().map(|at| &example.negatives[at]));
        let candidates = chosen.map(|candidate| self.source.fill(candidate.clone()));
        Ok(Picked { query: example.query, candidates: candidates.collect::<Result<_, _>>()? })
    }
}

/// Bits of a sequence's number below its part of an accumulated step.
const PART_SHIFT: u32 = 24;

/// Everything that decides the bits of a run, by name.
fn describe(task: &Task, source: &Source, settings: &Settings, total: u64) -> BTreeMap<&'static str, String> {
    let Settings {
        batch_size, accumulate, negatives, rate, schedule, warmup, optimizer, dropout, seed, ..
    } = settings;
    BTreeMap::from([
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("model, lengths and loss", task.fingerprint()),
        ("data", source.fingerprint()),
        ("number of steps", total.to_string()),
        ("batch size", format!("{batch_size} x {accumulate}")),
        ("negatives", negatives.to_string()),
        ("learning rate", format!("{rate} {schedule} {warmup:?}")),
        ("optimizer", format!("{optimizer:?}")),
        ("dropout", format!("{dropout:?}")),
        ("seed", seed.to_string()),
    ])
}

/// Takes an empty folder for a run, or checks that the folder holds the same run.
fn claim(output: &Path, run: &BTreeMap<&'static str, String>) -> Result<(), TrainError> {
    fs::create_dir_all(output).map_err(FileError::on("create", output))?;
    let path = output.join(RUN);
    if !path.is_file() {
        if !names_in(output)?.is_empty() {
            return Err(TrainError::OutputExists(output.to_owned()));
        }
        return Ok(write_sealed(&path, run)?);
    }
    let text = fs::read(&path).map_err(FileError::on("read", &path))?;
    let damaged =
        || TrainError::Damaged { path: path.clone(), problem: "its checksum does not fit".to_owned() };
    let there: BTreeMap<String, String> =
        is_sealed(&text).then(|| serde_json::from_slice(&text).ok()).flatten().ok_or_else(damaged)?;
    match run.iter().find(|(name, value)| there.get(**name) != Some(*value)) {
        None => Ok(()),
        Some((what, _)) => Err(TrainError::OtherRun { path, what: (*what).to_owned() }),
    }
}

/// Removes from a log what came after a step: steps that are done again.
fn cut_log(path: &Path, step: u64) -> Result<(), TrainError> {
    if !path.is_file() {
        return Ok(());
    }
    let text = fs::read_to_string(path).map_err(FileError::on("read", path))?;
    let kept: String = text.split_inclusive('\n').take(step as usize).collect();
    Ok(fs::write(path, kept).map_err(FileError::on("write", path))?)
}
