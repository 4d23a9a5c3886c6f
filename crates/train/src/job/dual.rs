//! Training of a dual encoder.

use std::path::PathBuf;

use toller_checkpoint::KnownModel;
use toller_encoder::{DualEncoder, EncoderError, LoadOptions, NewPrefix, TextPooling, TitleMode, TitleName};
use toller_ir::Role;

use super::{Plan, RunOptions};
use crate::TrainError;
use crate::dropout::Rates;
use crate::loss::{DualObjective, Similarity};
use crate::model::{Compute, Model};
use crate::task::Task;

/// A run that trains a dual encoder.
#[derive(Clone, Debug, Default)]
pub struct DualRun {
    /// The model's directory.
    pub model: PathBuf,
    /// What is known of the model beyond its files.
    pub known: Option<Box<KnownModel>>,
    /// The directory of the queries' model, if it is another one; `model` is then that of passages.
    pub query_model: Option<PathBuf>,
    /// The options of every run.
    pub options: RunOptions,
    /// Tokens of a query, at most; `None` for as many as of a passage.
    pub query_max_length: Option<usize>,
    /// The text before every query; `None` for the model's own prompt.
    pub query_prompt: Option<String>,
    /// The text before every passage; `None` for the model's own prompt.
    pub passage_prompt: Option<String>,
    /// How token states become a vector; `None` for the model's own way.
    pub pooling: Option<TextPooling>,
    /// How titles are given to the model; `None` for the model's own way, or else joined with their texts.
    pub title_mode: Option<TitleName>,
    /// Tokens of a new prefix; only the prefix is trained.
    pub prefix_tokens: Option<usize>,
    /// Whether queries and passages get encoders of their own.
    pub untie: bool,
    /// The one encoder that is trained.
    pub only: Option<Role>,
    /// What is learned.
    pub objective: DualObjective,
}

impl DualRun {
    /// Loads the model, to be trained on `compute`.
    ///
    /// # Errors
    /// When options are out of range, do not go together or do not fit the model, and those of loading it.
    pub fn open(self, compute: &Compute) -> Result<Plan, TrainError> {
        let load = LoadOptions {
            max_length: self.options.max_length,
            query_max_length: self.query_max_length,
            query_model: self.query_model,
            pooling: self.pooling,
            new_prefix: self.prefix_tokens.map(|tokens| NewPrefix { tokens, seed: self.options.seed() }),
            known: self.known,
            ..LoadOptions::default()
        };
        let mut encoder = DualEncoder::load(&self.model, &load)?;
        if encoder.tower(Role::Query).terms().is_some() {
            return Err(EncoderError::Sparse { what: "training" }.into());
        }
        for (role, prompt) in [(Role::Query, self.query_prompt), (Role::Passage, self.passage_prompt)] {
            if let Some(prompt) = prompt {
                encoder = encoder.with_prompt_of(role, &prompt)?;
            }
        }
        let model = Model::dual(&encoder, self.untie, self.only, compute)?;
        let tower = encoder.tower(Role::Query);
        let (similarity, loss) = self.objective.complete(own_similarity(&encoder))?;
        let settings = self.options.settings(Rates::of_model(tower.folder())?)?;
        let reason = "titles are not joined with their texts";
        let asked = TitleMode::of(encoder.titles(), self.title_mode, self.options.separator.clone(), None)
            .map_err(|_| TrainError::NoEffect { setting: "title_separator", reason })?;
        let titles = asked.or(encoder.titles().cloned()).unwrap_or_default();
        let task = Task::Dual { encoder, similarity, loss, titles };
        Ok(Plan { task, model, settings, new_labels: None })
    }
}

/// The similarity of a model: cosine for unit vectors, whose inner product it is, else what its files say,
/// else dot.
fn own_similarity(encoder: &DualEncoder) -> Similarity {
    if encoder.tower(Role::Query).normalizes() {
        return Similarity::Cosine;
    }
    encoder.similarity().and_then(|name| name.parse().ok()).unwrap_or(Similarity::Dot)
}
