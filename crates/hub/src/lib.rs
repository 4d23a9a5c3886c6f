//! From the name of a model to a directory with its files: a directory, a name in `models/`, or a
//! Hugging Face id.

mod directory;
pub mod env;
mod error;
mod hub;
mod known;
mod model;
mod options;
mod progress;
mod sha256;

pub use error::{Looked, ResolveError};
pub use known::known_models;
pub use model::{ModelSource, Origin, resolve_model};
pub use options::{ResolveOptions, Token};
pub use progress::ResolveEvent;

#[cfg(test)]
mod tests;
