//! From the name of a model to a directory with its files: a directory, a name in `models/`, or a
//! Hugging Face id.

mod directory;
mod error;
mod hub;
mod known;
mod model;
mod options;
mod progress;
mod sha256;
#[cfg(test)]
mod tests;
mod weights;

pub(crate) use directory::TOKENIZER_FILES;
pub use directory::TOWERS;
pub use error::{Looked, ResolveError};
pub use known::{KnownModel, known_models};
pub use model::{ModelSource, Origin, resolve_model};
pub use options::{ResolveOptions, Token};
pub use progress::ResolveEvent;
pub(crate) use weights::choose as choose_weights;
