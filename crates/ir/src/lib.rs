//! The vocabulary of the field, shared by every crate: documents, queries, hits, runs, qrels and the
//! [`Searcher`] that turns the second into the third. No I/O and no dependencies on other crates of
//! the workspace.

mod hit;
mod passage;
mod qrels;
mod query;
mod role;
mod run;
mod searcher;

pub use hit::{DocOrd, Hit};
pub use passage::Passage;
pub use qrels::Qrels;
pub use query::Query;
pub use role::Role;
pub use run::{Run, RunEntry};
pub use searcher::{Ranking, SearchError, Searcher};
