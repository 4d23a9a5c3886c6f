//! What a run learns: a task with its examples.

use std::path::Path;

use rayon::prelude::*;

use crate::TrainError;
use crate::data::{Source, window};
use crate::loss::token_loss;
use crate::model::{Graded, Inputs, Model};
use crate::save::{save, save_token_classifier};
use crate::settings::Settings;
use crate::task::{Picked, Task};
use crate::token_task::TokenTask;

/// A task with its examples.
#[expect(clippy::large_enum_variant, reason = "a run has one")]
pub(crate) enum Lesson {
    /// To tell the passages that answer a query from others.
    Ranking(Task, Source),
    /// To tell the last tokens of segments from others.
    Tokens(TokenTask),
}

/// From the results of the networks for a batch to the loss and its gradient.
pub(crate) type Grade<'a> = Box<dyn FnOnce([Vec<f64>; 2]) -> Result<Graded, TrainError> + 'a>;

impl Lesson {
    /// The number of examples.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ranking(_, source) => source.len(),
            Self::Tokens(task) => task.len(),
        }
    }

    /// Identifies the model before training, and everything here but the data that decides its gradients.
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            Self::Ranking(task, _) => task.fingerprint(),
            Self::Tokens(task) => task.fingerprint(),
        }
    }

    /// Identifies the data.
    pub(crate) fn fingerprint_of_data(&self) -> String {
        match self {
            Self::Ranking(_, source) => source.fingerprint(),
            Self::Tokens(task) => task.fingerprint_of_data(),
        }
    }

    /// The tokens of examples in an epoch, and how the results are graded.
    pub(crate) fn batch(
        &self,
        examples: &[u32],
        settings: &Settings,
        epoch: u64,
    ) -> Result<(Inputs, Grade<'_>), TrainError> {
        match self {
            Self::Ranking(task, source) => {
                let picked = examples.par_iter().map(|&example| pick(source, example, settings, epoch));
                let (inputs, groups) = task.inputs(&picked.collect::<Result<Vec<_>, _>>()?)?;
                Ok((inputs, Box::new(move |results| task.grade(&groups, results))))
            }
            Self::Tokens(task) => {
                let (texts, targets) = task.batch(examples, settings.seed, epoch)?;
                let inputs = Inputs { texts: [texts, Vec::new()], first: [0, 0] };
                Ok((inputs, Box::new(move |[logits, _]| Ok(token_loss(&targets, logits)))))
            }
        }
    }

    /// Writes the trained model, with `card` as its README.
    pub(crate) fn save(&self, model: &Model, output: &Path, card: &str) -> Result<(), TrainError> {
        match self {
            Self::Ranking(task, _) => save(task, model, output, card),
            Self::Tokens(task) => save_token_classifier(&task.classifier, model, output, card),
        }
    }
}

/// An example with its passages of an epoch.
fn pick(source: &Source, index: u32, settings: &Settings, epoch: u64) -> Result<Picked, TrainError> {
    let Settings { seed, negatives, .. } = *settings;
    let example = source.get(index as usize)?;
    let positive = window(example.positives.len(), 1, seed, index.into(), epoch);
    let negative = window(example.negatives.len(), negatives, seed, index.into(), epoch);
    let chosen = positive.into_iter().map(|at| &example.positives[at]);
    let chosen = chosen.chain(negative.into_iter().map(|at| &example.negatives[at]));
    let candidates = chosen.map(|candidate| source.fill(candidate.clone()));
    Ok(Picked { query: example.query, candidates: candidates.collect::<Result<_, _>>()? })
}
