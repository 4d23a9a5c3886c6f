//! A run: steps over batches, a log, checkpoints, and the trained model.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use toller_files::{DirectoryLock, remove_unfinished};
use toller_ir::counted;

use crate::TrainError;
use crate::checkpoint::Checkpoints;
use crate::claim::{CHECKPOINTS, EVALUATIONS, FIGURE, LOG, RUN, claim, describe};
use crate::data::{Order, Source};
use crate::dev::{Dev, Evaluation, History};
use crate::dropout::{Dropout, Rates};
use crate::figure::figure;
use crate::inspect::Inspected;
use crate::lesson::Lesson;
use crate::log::Log;
use crate::model::Model;
use crate::network::Gradients;
use crate::optimizer::{Moments, global_norm};
use crate::perturb::{self, Perturbed};
use crate::save::{self, write};
use crate::settings::{Length, Settings};
use crate::task::Task;
use crate::token_task::TokenTask;

/// A run of training.
pub struct Trainer {
    lesson: Lesson,
    model: Model,
    settings: Settings,
    output: PathBuf,
    dev: Option<Evaluator>,
    checkpoints: Checkpoints,
    log: Log,
    moments: Vec<Moments>,
    gradients: Vec<Gradients>,
    step: u64,
    /// The step of the last checkpoint.
    saved: Option<u64>,
    total: u64,
    order: Option<(u64, Order)>,
    /// The last epoch whose order was reported, if it had to be.
    reported: Option<u64>,
    inspected: Option<Inspected>,
    damaged: Vec<TrainError>,
    _lock: DirectoryLock,
}

/// A dev set with its evaluations.
struct Evaluator {
    dev: Dev,
    every: u64,
    history: History,
    log: Log,
}

/// What a run reports.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// A step is done.
    Step(&'a StepReport),
    /// An evaluation begins.
    Evaluating,
    /// An evaluation is done.
    Evaluated(&'a Evaluation),
    /// An epoch has begun, and its batches could not all be without duplicates.
    Crowded(Crowded),
}

/// The batches of an epoch that have duplicates although they should have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowded {
    /// The epoch, from 1.
    pub epoch: u64,
    /// Batches with examples that have a query or a passage in common.
    pub batches: usize,
    /// All batches of the epoch.
    pub all: u64,
}

impl fmt::Display for Crowded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, batches, all } = self;
        write!(f, "epoch {epoch}: {batches} of {} ", counted(*all, "batch"))?;
        let have = if *batches == 1 { "has" } else { "have" };
        write!(f, "{have} examples with a query or a passage in common, since no other example fits")
    }
}

/// A finished step, as a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Its number, from 1.
    pub step: u64,
    /// All steps.
    pub total: u64,
    /// Passes over the examples so far.
    pub epoch: f64,
    /// The loss before the step; with a perturbation, at the moved embeddings.
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

impl Trainer {
    /// Prepares a run, or goes on with the one that `output` holds.
    ///
    /// # Errors
    /// When there are too few examples, `output` holds something else or is another process's, or the model
    /// cannot be saved as it is trained.
    pub fn new(
        task: Task,
        model: Model,
        source: Source,
        dev: Option<Dev>,
        settings: Settings,
        output: &Path,
    ) -> Result<Self, TrainError> {
        save::check(&task)?;
        Self::open(Lesson::Ranking(task, source), model, dev, settings, output)
    }

    /// The same for a token classifier.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn tokens(
        task: TokenTask,
        model: Model,
        dev: Option<Dev>,
        settings: Settings,
        output: &Path,
    ) -> Result<Self, TrainError> {
        Self::open(Lesson::Tokens(task), model, dev, settings, output)
    }

    fn open(
        mut lesson: Lesson,
        mut model: Model,
        dev: Option<Dev>,
        settings: Settings,
        output: &Path,
    ) -> Result<Self, TrainError> {
        if settings.perturbation.is_some() {
            perturb::check(&model)?;
        }
        let inspected = lesson.inspect(&settings)?;
        let per_epoch = lesson.len() / settings.batch_size.max(1);
        if per_epoch == 0 {
            return Err(TrainError::TooFew { examples: lesson.len(), batch: settings.batch_size });
        }
        let steps_per_epoch = per_epoch as f64 / settings.accumulate.max(1) as f64;
        let total = match settings.length {
            Length::Steps(steps) => steps,
            Length::Epochs(epochs) => ((epochs * steps_per_epoch) as u64).max(1),
        };
        let warmup = settings.warmup.steps(total);
        if warmup >= total {
            return Err(TrainError::Warmup { warmup, steps: total });
        }
        let order = lesson.order(&settings, 0)?;
        if order.crowded() == per_epoch {
            return Err(TrainError::Duplicates { batch: settings.batch_size });
        }
        let lock = claim(output, &describe(&lesson, &model, dev.as_ref(), &settings, total))?;
        remove_unfinished(output, |name| [RUN, LOG, EVALUATIONS, FIGURE].contains(&name))?;
        let mut moments: Vec<Moments> =
            model.towers().iter().map(|tower| Moments::zeros(tower.weights())).collect();
        let checkpoints = Checkpoints::new(output.join(CHECKPOINTS))?;
        let mut damaged = Vec::new();
        let saved = checkpoints.read_last(&mut model, &mut moments, |error| damaged.push(error))?;
        if saved.is_some() {
            model.follow()?;
        }
        let log = Log::open(output.join(LOG), saved)?;
        let dev = dev.map(|dev| {
            let log = Log::open(output.join(EVALUATIONS), saved)?;
            let history = History::new(log.lines()?, dev.set.decides());
            let every = dev.every.unwrap_or(steps_per_epoch as u64).max(1);
            Ok::<_, TrainError>(Evaluator { dev, every, history, log })
        });
        let gradients = model.zeros();
        Ok(Self {
            lesson,
            model,
            dev: dev.transpose()?,
            settings,
            output: output.to_owned(),
            checkpoints,
            log,
            moments,
            gradients,
            step: saved.unwrap_or(0),
            saved,
            total,
            order: Some((0, order)),
            reported: None,
            inspected,
            damaged,
            _lock: lock,
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

    /// Whether no step is left: all are done, or the evaluations have not become better for too long.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.step == self.total || self.is_stale()
    }

    /// What the examples are, except for a token classifier.
    #[must_use]
    pub fn inspected(&self) -> Option<&Inspected> {
        self.inspected.as_ref()
    }

    /// Checkpoints that were damaged. The run goes on from an earlier one.
    #[must_use]
    pub fn damaged(&self) -> &[TrainError] {
        &self.damaged
    }

    /// The model as it is now.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Whether the model that a finished run saves is the one before training, since none was better.
    #[must_use]
    pub fn saves_untrained(&self) -> bool {
        let saves_best = self.dev.as_ref().is_some_and(|evaluator| !evaluator.dev.saves_last);
        saves_best && self.best().is_some_and(|best| best.step == 0)
    }

    /// The evaluation with the best value so far.
    #[must_use]
    pub fn best(&self) -> Option<&Evaluation> {
        self.dev.as_ref()?.history.best()
    }

    /// Does the steps that are left, and saves the model with `card` as its README. Once `stop` is set,
    /// writes a checkpoint instead and returns.
    ///
    /// # Errors
    /// When a record is bad, the loss is not a number, or a file cannot be written.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        card: &str,
        mut on_report: impl FnMut(Report<'_>),
    ) -> Result<Ending, TrainError> {
        loop {
            let is_evaluated = self.evaluate(stop, &mut on_report)?;
            let ends = is_evaluated && self.is_over();
            let stops = !ends && stop.load(Ordering::Relaxed);
            let is_best = self.best().is_some_and(|best| best.step == self.step);
            let every = self.settings.save_every;
            let is_due = self.step > 0 && every > 0 && self.step.is_multiple_of(every);
            if self.saved != Some(self.step) && (is_due || is_best || stops || ends) {
                self.save_state()?;
            }
            if ends {
                break;
            }
            if stops {
                return Ok(Ending::Stopped);
            }
            let report = self.advance()?;
            self.log.append(&report)?;
            on_report(Report::Step(&report));
            if let Some(crowded) = self.newly_crowded() {
                on_report(Report::Crowded(crowded));
            }
        }
        self.save_model(card)?;
        Ok(Ending::Trained)
    }

    /// Evaluates the model if it is time to; `false` if `stop` came first.
    fn evaluate(
        &mut self,
        stop: &AtomicBool,
        on_report: &mut impl FnMut(Report<'_>),
    ) -> Result<bool, TrainError> {
        let Some(evaluator) = &mut self.dev else { return Ok(true) };
        let is_due = self.step.is_multiple_of(evaluator.every) || self.step == self.total;
        if !is_due || evaluator.history.has(self.step) {
            return Ok(true);
        }
        self.model.check_weights(self.step)?;
        on_report(Report::Evaluating);
        let started = Instant::now();
        let Some(measures) = evaluator.dev.set.evaluate(&self.model, stop)? else { return Ok(false) };
        let seconds = started.elapsed().as_secs_f64();
        let evaluation = Evaluation { step: self.step, measures, seconds };
        evaluator.log.append(&evaluation)?;
        on_report(Report::Evaluated(&evaluation));
        evaluator.history.push(evaluation);
        Ok(true)
    }

    /// Whether the evaluations have not become better for too long.
    fn is_stale(&self) -> bool {
        self.dev.as_ref().is_some_and(|evaluator| {
            evaluator.dev.patience.is_some_and(|patience| evaluator.history.since_best() >= patience)
        })
    }

    /// Writes a checkpoint, after the logs that belong to it, and the figure.
    fn save_state(&mut self) -> Result<(), TrainError> {
        self.model.check_weights(self.step)?;
        self.log.sync()?;
        if let Some(evaluator) = &self.dev {
            evaluator.log.sync()?;
        }
        self.checkpoints.write(self.step, &self.model, &self.moments)?;
        self.checkpoints.prune(self.settings.keep, self.best().map(|best| best.step))?;
        self.saved = Some(self.step);
        let evaluations = self.dev.as_ref().map_or(&[][..], |evaluator| evaluator.history.evaluations());
        let title = self.output.file_name().unwrap_or_default().to_string_lossy();
        let Some(svg) = figure(&title, &self.log.lines::<StepReport>()?, evaluations)? else { return Ok(()) };
        write(&self.output.join(FIGURE), svg.as_bytes())
    }

    /// Saves the model: the best, if there is a dev set, else the last.
    fn save_model(&mut self, card: &str) -> Result<(), TrainError> {
        let mut card = card.to_owned();
        if let Some(evaluator) = &self.dev {
            let saves_last = evaluator.dev.saves_last;
            let chosen = if saves_last { evaluator.history.evaluations().last() } else { self.best() };
            if let Some(Evaluation { step, measures, .. }) = chosen {
                let values = measures.iter().map(|(name, value)| format!("- {name}: {value:.4}\n"));
                let which = if saves_last { "last" } else { "best" };
                card += &format!(
                    "\n## Dev set\nAfter step {step}, the {which}:\n\n{}",
                    values.collect::<String>()
                );
                if *step != self.step {
                    self.checkpoints.read(*step, &mut self.model, &mut self.moments)?;
                }
            }
        }
        self.lesson.save(&self.model, &self.output, &card)
    }

    /// Computes the gradient of the next step, and returns its loss and tokens.
    fn gradient(&mut self) -> Result<(f64, usize), TrainError> {
        let Settings { accumulate, chunks, dropout, seed, .. } = self.settings;
        let accumulate = accumulate.max(1) as u64;
        self.gradients.iter_mut().for_each(Gradients::reset);
        let masks = (dropout != Rates::default()).then(|| Dropout::new(dropout, seed, self.step));
        let (mut loss, mut tokens) = (0.0, 0);
        for part in 0..accumulate {
            let (examples, epoch) = self.examples(self.step * accumulate + part)?;
            let (mut inputs, grade) = self.lesson.batch(&examples, &self.settings, epoch)?;
            inputs.first = [part << PART_SHIFT; 2];
            tokens += inputs.texts.iter().flatten().map(toller_tokenizer::Tokens::len).sum::<usize>();
            let scale = 1.0 / accumulate as f64;
            let grade = |results| {
                let mut graded = grade(results)?;
                graded.gradients.iter_mut().flatten().for_each(|gradient| *gradient *= scale);
                Ok(graded)
            };
            loss += scale * self.model.gradient(&inputs, masks, chunks, grade, &mut self.gradients)?;
        }
        Ok((loss, tokens))
    }

    /// One step.
    fn advance(&mut self) -> Result<StepReport, TrainError> {
        let started = Instant::now();
        let Settings { accumulate, schedule, warmup, rate, optimizer, perturbation, .. } = self.settings;
        let (mut loss, tokens) = self.gradient()?;
        if let Some(epsilon) = perturbation {
            let perturbed = Perturbed::new(&mut self.model, &self.gradients, epsilon)?;
            let again = self.model.follow().and_then(|()| self.gradient());
            perturbed.undo(&mut self.model);
            (loss, _) = again?;
        }
        let step = self.step + 1;
        let norm = global_norm(&self.gradients);
        for (what, number) in [("loss", loss), ("gradient", norm)] {
            if !number.is_finite() {
                return Err(TrainError::NotFinite { what, step });
            }
        }
        let rate = rate * schedule.factor(self.step, warmup.steps(self.total), self.total);
        for index in 0..self.gradients.len() {
            if !self.model.trains(index) {
                continue;
            }
            if let Some(weights) = self.model.towers_mut()[index].weights_mut() {
                let (gradients, moments) = (&self.gradients[index], &mut self.moments[index]);
                optimizer.apply(weights, gradients, moments, (step, rate, norm));
            }
        }
        self.step = step;
        self.model.follow()?;
        let epoch = (self.step * accumulate.max(1) as u64) as f64 / self.batches() as f64;
        let seconds = started.elapsed().as_secs_f64();
        Ok(StepReport { step: self.step, total: self.total, epoch, loss, rate, norm, tokens, seconds })
    }

    /// The duplicates in the batches of this epoch, if there are some, once.
    fn newly_crowded(&mut self) -> Option<Crowded> {
        let (epoch, order) = self.order.as_ref()?;
        let is_new = self.reported.replace(*epoch) != Some(*epoch);
        let crowded = Crowded { epoch: epoch + 1, batches: order.crowded(), all: self.batches() };
        (is_new && crowded.batches > 0).then_some(crowded)
    }

    /// Batches of an epoch.
    fn batches(&self) -> u64 {
        (self.lesson.len() / self.settings.batch_size) as u64
    }

    /// The examples of the batch of a number in the run, and its epoch.
    fn examples(&mut self, number: u64) -> Result<(Vec<u32>, u64), TrainError> {
        let (epoch, index) = (number / self.batches(), number % self.batches());
        let order = match self.order.take() {
            Some((ordered, order)) if ordered == epoch => order,
            _ => self.lesson.order(&self.settings, epoch)?,
        };
        let examples = order.batch(index as usize, self.settings.batch_size).to_vec();
        self.order = Some((epoch, order));
        Ok((examples, epoch))
    }
}

/// Bits of a sequence's number below its part of an accumulated step.
const PART_SHIFT: u32 = 24;
