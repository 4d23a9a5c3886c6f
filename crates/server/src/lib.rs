//! Toller over HTTP: vectors, scores and searches, with the bits of the command line.
//!
//! A front opens models and searchers with the engine, describes what is served in a [`Service`], and calls
//! [`Server::run`]. Routes have the shapes of text-embeddings-inference, OpenAI, Cohere, Jina and Pyserini,
//! so that their clients work unchanged. Requests wait in bounded queues, and are computed in batches; an
//! answer has the same bits in every batch.

mod app;
mod body;
mod collection;
mod deadline;
mod dialect;
mod embedder;
mod error;
mod failure;
mod gate;
mod keys;
mod limits;
mod log;
mod metrics;
mod registry;
mod routes;
mod runs;
mod schedule;
mod scorer;
mod sending;
mod serve;
mod signals;
mod tei_metrics;
mod texts;
mod tls;
mod unread;
mod upkeep;

pub use app::{Named, OpenSystems, Service};
pub use collection::Systems;
pub use error::ServerError;
pub use keys::Keys;
pub use limits::Limits;
pub use log::Log;
pub use runs::Runs;
pub use serve::{Event, Server};
pub use signals::{Control, Signals};
pub use tls::Tls;
