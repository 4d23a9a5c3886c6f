//! From the name of a model to a directory with its files. A name is a directory, a name in `models/`, or
//! an id of the Hugging Face hub. The same client downloads public files, such as the archives of
//! collections, and [`agent`] is its connection for other protocols.
//!
//! Nothing is downloaded unless [`ResolveOptions`] allows the network, and every download is reported to the
//! caller, who can stop it. Only [`ResolveOptions::from_env`] reads the environment.

mod adapter;
mod cache;
mod client;
mod digest;
mod directory;
mod download;
pub mod env;
mod error;
mod id;
mod known;
mod listing;
mod lock;
mod model;
mod options;
mod progress;
mod public;
mod snapshot;
mod transfer;

pub use client::agent;
pub use error::{Looked, ResolveError};
pub use known::known_models;
pub use model::{ModelSource, Origin, resolve_directory, resolve_model};
pub use options::{ResolveOptions, Token};
pub use progress::{OnEvent, ResolveEvent};
pub use public::{PublicFile, download};
pub use ureq::Proxy;

#[cfg(test)]
mod tests;
