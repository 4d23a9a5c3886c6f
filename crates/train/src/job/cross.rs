//! Training of a cross-encoder.

use std::path::PathBuf;

use toller_encoder::{CrossEncoder, CrossEncoderOptions, NewHead};
use toller_ir::{Setting, counted, remedy};
use toller_tokenizer::PairTruncation;

use super::{Plan, RunOptions};
use crate::TrainError;
use crate::dropout::Rates;
use crate::loss::CrossLoss;
use crate::model::{Compute, Model};
use crate::task::Task;

/// A run that trains a cross-encoder.
#[derive(Clone, Debug, Default)]
pub struct CrossRun {
    /// The model's directory.
    pub model: PathBuf,
    /// The options of every run.
    pub options: RunOptions,
    /// What is learned; `None` for what suits the labels of the model.
    pub loss: Option<CrossLoss>,
    /// Which text of a pair is cut.
    pub truncation: PairTruncation,
    /// Labels of the new classifier of a model that has none; `None` for as many as the loss needs.
    pub labels: Option<usize>,
}

impl CrossRun {
    /// Loads the model, to be trained on `compute`.
    ///
    /// # Errors
    /// When options are out of range or do not fit the model, and those of loading it.
    pub fn open(self, compute: &Compute) -> Result<Plan, TrainError> {
        let wanted = self.labels.unwrap_or_else(|| CrossLoss::new_labels(self.loss));
        let load = CrossEncoderOptions {
            max_length: self.options.max_length,
            truncation: self.truncation,
            // The label of a score does not matter here, and the first always exists.
            label: Some(0),
            new_head: Some(NewHead { labels: wanted, seed: self.options.seed() }),
            ..CrossEncoderOptions::default()
        };
        let encoder = CrossEncoder::load(&self.model, &load)?;
        let labels = encoder.labels().len();
        let new_labels = encoder.new_class().map(|_| labels);
        if self.labels.is_some() && labels != wanted {
            let (given, found) = (Setting::Labels.to(wanted.to_string()), counted(labels, "label"));
            return Err(TrainError::Options {
                problem: remedy!("{}: the model has a classifier with {}", given, found),
                remedy: remedy!("leave {} out; it is for a model without a classifier", Setting::Labels),
            });
        }
        let loss = self.loss.unwrap_or_else(|| CrossLoss::for_labels(labels));
        loss.check(labels)?;
        let model = Model::cross(&encoder, compute)?;
        let settings = self.options.settings(Rates::of_model(encoder.folder())?)?;
        let task = Task::Cross { encoder, loss, separator: self.options.separator() };
        Ok(Plan { task, model, settings, new_labels })
    }
}
