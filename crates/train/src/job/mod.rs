//! From the options of a run to what is trained: model, task and settings.

mod cross;
mod dual;
mod options;
mod token;

pub use cross::CrossRun;
pub use dual::DualRun;
pub use options::RunOptions;
pub use token::TokenRun;

use crate::model::Model;
use crate::settings::Settings;
use crate::task::Task;

/// What is trained, and how.
pub struct Plan<T = Task> {
    /// What is learned.
    pub task: T,
    /// The model.
    pub model: Model,
    /// How it is trained.
    pub settings: Settings,
    /// The labels of the new classifier of a model that had none.
    pub new_labels: Option<usize>,
}
