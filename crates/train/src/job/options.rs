//! The options of every run.

use crate::TrainError;
use crate::dropout::Rates;
use crate::model::Chunks;
use crate::optimizer::{Optimizer, Rule, Schedule, Warmup};
use crate::settings::{Length, Settings};

/// The options of every run. What is not given is as in [`Settings::new`].
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// How long the run is.
    pub length: Option<Length>,
    /// Examples of a batch.
    pub batch_size: Option<usize>,
    /// Batches whose gradients are added for a step.
    pub accumulate: Option<usize>,
    /// Negatives of each example, at most.
    pub negatives: Option<usize>,
    /// The largest learning rate.
    pub rate: Option<f64>,
    /// How the learning rate changes.
    pub schedule: Option<Schedule>,
    /// How long the learning rate rises: steps, or below 1 a share of them.
    pub warmup: Option<f64>,
    /// How gradients change parameters.
    pub optimizer: Option<Rule>,
    /// The weight decay of matrices.
    pub weight_decay: Option<f64>,
    /// The largest norm of the gradient; 0 for any.
    pub max_norm: Option<f64>,
    /// The rate of dropout everywhere, instead of the model's own rates.
    pub dropout: Option<f32>,
    /// How far word embeddings are moved to where the loss grows fastest.
    pub perturbation: Option<f64>,
    /// Decides batches, choices, dropout and new parameters.
    pub seed: Option<u64>,
    /// Sequences that are computed at a time.
    pub chunk_size: Option<usize>,
    /// Steps between checkpoints; 0 for none but at an interruption.
    pub save_every: Option<u64>,
    /// Checkpoints that are kept.
    pub keep: Option<usize>,
    /// Whether no query and no passage occurs twice in a batch of a dual encoder.
    pub no_duplicates: bool,
    /// What is between a title and its text; `None` for a blank.
    pub separator: Option<String>,
    /// Tokens of a text, at most; `None` for the model's own maximum.
    pub max_length: Option<usize>,
}

impl RunOptions {
    /// The settings for a model that has dropout of its own.
    ///
    /// # Errors
    /// [`TrainError::OutOfRange`].
    pub fn settings(&self, own: Rates) -> Result<Settings, TrainError> {
        let usual = Settings::new(own);
        let optimizer = Optimizer::new(self.optimizer.unwrap_or(usual.optimizer.rule));
        let settings = Settings {
            length: self.length.unwrap_or(usual.length),
            batch_size: self.batch_size.unwrap_or(usual.batch_size),
            accumulate: self.accumulate.unwrap_or(usual.accumulate),
            negatives: self.negatives.unwrap_or(usual.negatives),
            rate: self.rate.unwrap_or(usual.rate),
            schedule: self.schedule.unwrap_or(usual.schedule),
            warmup: self.warmup.map_or(usual.warmup, Warmup::of),
            optimizer: Optimizer {
                weight_decay: self.weight_decay.unwrap_or(optimizer.weight_decay),
                max_norm: self.max_norm.or(optimizer.max_norm).filter(|norm| *norm != 0.0),
                ..optimizer
            },
            dropout: self.dropout.map_or(usual.dropout, Rates::all),
            perturbation: self.perturbation,
            seed: self.seed(),
            chunks: self.chunk_size.map_or(usual.chunks, Chunks::Sequences),
            save_every: self.save_every.unwrap_or(usual.save_every),
            keep: self.keep.unwrap_or(usual.keep),
            no_duplicates: self.no_duplicates,
        };
        settings.check()?;
        Ok(settings)
    }

    pub(super) fn separator(&self) -> String {
        self.separator.clone().unwrap_or_else(|| " ".to_owned())
    }

    /// The seed, also of parameters that the model does not have yet.
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or(Settings::new(Rates::default()).seed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Rates, RunOptions, Settings};
    use crate::{Chunks, Rule, TrainError};

    #[test]
    fn what_is_not_given_is_as_usual() -> Result<(), TrainError> {
        let own = Rates { hidden: 0.1, attention: 0.2, classifier: 0.3 };
        assert_eq!(RunOptions::default().settings(own)?, Settings::new(own));
        let options = RunOptions {
            optimizer: Some(Rule::Lamb),
            max_norm: Some(0.0),
            dropout: Some(0.0),
            chunk_size: Some(3),
            ..RunOptions::default()
        };
        let settings = options.settings(own)?;
        assert_eq!((settings.optimizer.max_norm, settings.optimizer.epsilon), (None, 1e-6));
        assert_eq!((settings.dropout, settings.chunks), (Rates::all(0.0), Chunks::Sequences(3)));
        for (options, setting) in [
            (RunOptions { chunk_size: Some(0), ..options.clone() }, "chunk_size"),
            (RunOptions { max_norm: Some(-1.0), ..options.clone() }, "max_grad_norm"),
            (RunOptions { warmup: Some(-1.0), ..options }, "warmup"),
        ] {
            let refused = options.settings(own).err();
            let named = |error: &TrainError| matches!(error, TrainError::OutOfRange { setting: own, .. } if *own == setting);
            assert!(refused.as_ref().is_some_and(named), "{refused:?}");
        }
        Ok(())
    }
}
