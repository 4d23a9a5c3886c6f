//! Training of a token classifier.

use std::path::PathBuf;

use toller_encoder::{TokenClassifier, TokenClassifierOptions};
use toller_ir::{Setting, remedy};

use super::{Plan, RunOptions};
use crate::TrainError;
use crate::data::MarkedFile;
use crate::dropout::Rates;
use crate::model::{Compute, Model};
use crate::token_task::TokenTask;

/// A run that trains a token classifier.
#[derive(Clone, Debug, Default)]
pub struct TokenRun {
    /// The model's directory.
    pub model: PathBuf,
    /// The options of every run. There are no negatives.
    pub options: RunOptions,
    /// Files of marked texts.
    pub data: Vec<PathBuf>,
}

impl TokenRun {
    /// Loads the model, to be trained on `compute`, and opens the files.
    ///
    /// # Errors
    /// When there is no file, options are out of range, and those of the model and the files.
    pub fn open(self, compute: &Compute) -> Result<Plan<TokenTask>, TrainError> {
        if self.data.is_empty() {
            let remedy = remedy!("give {}", Setting::Data.to("FILE"));
            return Err(TrainError::Options { problem: "there is nothing to learn from".into(), remedy });
        }
        let load = TokenClassifierOptions {
            max_length: self.options.max_length,
            new_labels: Some(TokenTask::LABELS.map(str::to_owned).to_vec()),
            ..TokenClassifierOptions::default()
        };
        let classifier = TokenClassifier::load(&self.model, &load)?;
        let new_labels = classifier.is_new().then(|| classifier.labels().len());
        let model = Model::tokens(&classifier, compute)?;
        let options = RunOptions { negatives: Some(0), ..self.options };
        let settings = options.settings(Rates::of_model(classifier.folder())?)?;
        let files = self.data.iter().map(|path| MarkedFile::open(path)).collect::<Result<_, _>>()?;
        Ok(Plan { task: TokenTask::new(classifier, files)?, model, settings, new_labels })
    }
}
