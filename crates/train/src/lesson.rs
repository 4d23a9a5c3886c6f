//! What a run learns: a task with its examples.

use std::path::Path;

use rayon::prelude::*;

use crate::TrainError;
use crate::data::{Candidate, Example, Order, Source, key, key_of_query, window};
use crate::inspect::{Inspected, inspect};
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

    /// Looks at all examples, and leaves bad ones out if its source does. `None` for those of a token
    /// classifier: they are checked when they are read.
    pub(crate) fn inspect(&mut self, settings: &Settings) -> Result<Option<Inspected>, TrainError> {
        match self {
            Self::Ranking(task, source) => inspect(task, source, settings).map(Some),
            Self::Tokens(task) => task.check_files().map(|()| None),
        }
    }

    /// The order of the examples in an epoch.
    pub(crate) fn order(&self, settings: &Settings, epoch: u64) -> Result<Order, TrainError> {
        let Settings { seed, batch_size, no_duplicates, .. } = *settings;
        match self {
            Self::Ranking(_, source) if no_duplicates => {
                let keys = |index| Ok(keys(index, source.get(index)?, settings, epoch));
                let keys = (0..source.len()).into_par_iter().map(keys);
                let keys = keys.collect::<Result<Vec<Vec<u64>>, TrainError>>()?;
                Order::apart(&keys, batch_size, seed, epoch)
                    .ok_or(TrainError::Duplicates { batch: batch_size })
            }
            _ => Ok(Order::new(self.len(), seed, epoch)),
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
    let (query, passages) = choose(index as usize, source.get(index as usize)?, settings, epoch);
    let candidates = passages.into_iter().map(|candidate| source.fill(candidate));
    Ok(Picked { query, candidates: candidates.collect::<Result<_, _>>()? })
}

/// What two examples of a batch should not have in common: the query, and the passages of an epoch.
pub(crate) fn keys(index: usize, example: Example, settings: &Settings, epoch: u64) -> Vec<u64> {
    let (query, passages) = choose(index, example, settings, epoch);
    passages.iter().map(key).chain([key_of_query(&query)]).collect()
}

/// The query of an example, and its passages of an epoch, which may be without their texts.
fn choose(index: usize, example: Example, settings: &Settings, epoch: u64) -> (String, Vec<Candidate>) {
    let Settings { seed, negatives, .. } = *settings;
    let Example { query, positives, negatives: all } = example;
    let positive = window(positives.len(), 1, seed, index as u64, epoch);
    let negative = window(all.len(), negatives, seed, index as u64, epoch);
    let chosen = positive.into_iter().map(|at| positives[at].clone());
    (query, chosen.chain(negative.into_iter().map(|at| all[at].clone())).collect())
}
