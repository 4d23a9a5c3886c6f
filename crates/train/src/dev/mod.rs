//! Evaluation during training: how good the model is on what it does not learn from.

mod history;
mod marked;
mod ranked;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

pub use history::Evaluation;
pub(crate) use history::History;
pub use marked::MarkedSet;
pub use ranked::{Judge, RankedSet};
use toller_files::ChecksumHasher;
use toller_tokenizer::Tokens;

use crate::TrainError;
use crate::model::Model;

/// When a model is evaluated, and what follows from the result.
#[derive(Clone, Copy, Debug)]
pub struct Dev<S = DevSet> {
    /// What it is evaluated on, or what that is made of.
    pub set: S,
    /// Steps between evaluations; `None` for those of an epoch. The model is also evaluated before the first
    /// step and after the last.
    pub every: Option<u64>,
    /// The run ends after this many evaluations without a better one.
    pub patience: Option<u64>,
    /// Whether the model of the last step is saved, not that of the best evaluation.
    pub saves_last: bool,
}

impl<S> Dev<S> {
    /// Makes what the model is evaluated on.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open<T: Into<DevSet>, E>(self, open: impl FnOnce(S) -> Result<T, E>) -> Result<Dev, E> {
        let Self { set, every, patience, saves_last } = self;
        Ok(Dev { set: open(set)?.into(), every, patience, saves_last })
    }
}

/// What a model is evaluated on.
pub enum DevSet {
    /// Judged queries, for dual encoders and cross-encoders.
    Ranked(RankedSet),
    /// Marked texts, for token classifiers.
    Marked(MarkedSet),
}

/// Adds everything that decides what a model makes of tokens.
fn add(hasher: &mut ChecksumHasher, tokens: &Tokens) {
    hasher.update(&(tokens.len() as u64).to_le_bytes());
    hasher.update(bytemuck::cast_slice(&tokens.input_ids));
    hasher.update(bytemuck::cast_slice(&tokens.type_ids));
}

/// Texts between two looks at whether the run is to stop.
const BLOCK: usize = 256;

impl From<RankedSet> for DevSet {
    fn from(set: RankedSet) -> Self {
        Self::Ranked(set)
    }
}

impl From<MarkedSet> for DevSet {
    fn from(set: MarkedSet) -> Self {
        Self::Marked(set)
    }
}

impl DevSet {
    /// The measure that decides which model is the best.
    pub(crate) fn decides(&self) -> String {
        match self {
            Self::Ranked(set) => set.decides(),
            Self::Marked(_) => MarkedSet::DECIDES.to_owned(),
        }
    }

    /// Everything that decides the measures of a model.
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            Self::Ranked(set) => set.fingerprint(),
            Self::Marked(set) => set.fingerprint(),
        }
    }

    /// The measures of a model; `None` once `stop` is set.
    pub(crate) fn evaluate(
        &self,
        model: &Model,
        stop: &AtomicBool,
    ) -> Result<Option<BTreeMap<String, f64>>, TrainError> {
        match self {
            Self::Ranked(set) => set.evaluate(model, stop),
            Self::Marked(set) => set.evaluate(model, stop),
        }
    }
}
