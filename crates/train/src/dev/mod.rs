//! Evaluation during training: how good the model is on queries that it does not learn from.

mod history;
mod set;

pub use history::Evaluation;
pub(crate) use history::History;
pub use set::{DevSet, Judge};

/// When a model is evaluated, and what follows from the result.
pub struct Dev {
    /// What it is evaluated on.
    pub set: DevSet,
    /// Steps between evaluations; `None` for those of an epoch. The model is also evaluated before the first
    /// step and after the last.
    pub every: Option<u64>,
    /// The run ends after this many evaluations without a better one.
    pub patience: Option<u64>,
    /// Whether the model of the last step is saved, not that of the best evaluation.
    pub saves_last: bool,
}
