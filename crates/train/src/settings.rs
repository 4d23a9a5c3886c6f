//! The settings of a run.

use crate::TrainError;
use crate::dropout::Rates;
use crate::model::Chunks;
use crate::optimizer::{Optimizer, Rule, Schedule, Warmup};

/// Bytes that the tapes of an undivided batch take at most, about.
const CHUNK_BYTES: usize = 1 << 30;

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
    /// Steps take the gradient at word embeddings that are moved by this much to where the loss grows
    /// fastest.
    pub perturbation: Option<f64>,
    /// Decides batches, choices and dropout.
    pub seed: u64,
    /// How a batch is divided.
    pub chunks: Chunks,
    /// Steps between checkpoints; 0 for none but at an interruption.
    pub save_every: u64,
    /// Checkpoints that are kept.
    pub keep: usize,
    /// Whether no query and no passage occurs twice in a batch.
    pub no_duplicates: bool,
}

impl Settings {
    /// The settings that count where none are given. `dropout` is the model's own.
    #[must_use]
    pub fn new(dropout: Rates) -> Self {
        Self {
            length: Length::Epochs(1.0),
            batch_size: 32,
            accumulate: 1,
            negatives: 1,
            rate: 2e-5,
            schedule: Schedule::Linear,
            warmup: Warmup::Share(0.1),
            optimizer: Optimizer::new(Rule::AdamW),
            dropout,
            perturbation: None,
            seed: 42,
            chunks: Chunks::Bytes(CHUNK_BYTES),
            save_every: 500,
            keep: 2,
            no_duplicates: false,
        }
    }

    /// Checks that each number is in its range.
    ///
    /// # Errors
    /// [`TrainError::OutOfRange`].
    pub fn check(&self) -> Result<(), TrainError> {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        let Rates { hidden, attention, classifier } = self.dropout;
        let dropped = [hidden, attention, classifier].map(f64::from);
        let (epochs, steps) = match self.length {
            Length::Epochs(epochs) => (epochs, 1),
            Length::Steps(steps) => (1.0, steps),
        };
        let share = match self.warmup {
            Warmup::Share(share) => share,
            Warmup::Steps(_) => 0.0,
        };
        let dropout = dropped.into_iter().find(|rate| !(0.0..1.0).contains(rate)).unwrap_or_default();
        let perturbation = self.perturbation.unwrap_or(1.0);
        let Optimizer { weight_decay: decay, max_norm, .. } = self.optimizer;
        let norm = max_norm.unwrap_or(1.0);
        let checks = [
            ("lr", self.rate, is_positive(self.rate), "a number above 0"),
            ("warmup", share, (0.0..1.0).contains(&share), "0, a share below 1, or a number of steps"),
            ("dropout", dropout, (0.0..1.0).contains(&dropout), "a number from 0 to below 1"),
            ("epochs", epochs, is_positive(epochs), "a number above 0"),
            ("steps", steps as f64, steps > 0, "1 or more"),
            ("weight_decay", decay, decay >= 0.0 && decay.is_finite(), "0 or a number above"),
            ("max_grad_norm", norm, is_positive(norm), "a number above 0, or 0 for any norm"),
            ("perturb", perturbation, is_positive(perturbation), "a number above 0"),
            ("batch_size", self.batch_size as f64, self.batch_size > 0, "1 or more"),
            ("accumulate", self.accumulate as f64, self.accumulate > 0, "1 or more"),
            ("chunk_size", 0.0, self.chunks != Chunks::Sequences(0), "1 or more"),
            ("keep_checkpoints", self.keep as f64, self.keep > 0, "1 or more"),
        ];
        match checks.into_iter().find(|(.., fits, _)| !fits) {
            Some((setting, value, _, range)) => Err(TrainError::OutOfRange { setting, value, range }),
            None => Ok(()),
        }
    }
}
