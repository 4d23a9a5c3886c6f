//! The vocabulary of the field, shared by every crate: documents, queries, hits, runs, qrels and the
//! [`Searcher`] that turns the second into the third. No I/O and no dependencies on other crates of
//! the workspace.

mod doc_set;
mod hit;
mod passage;
mod qrels;
mod query;
mod role;
mod run;
mod searcher;

pub use doc_set::DocSet;
pub use hit::{DocOrd, Hit};
pub use passage::Passage;
pub use qrels::Qrels;
pub use query::Query;
pub use role::Role;
pub use run::{Run, RunEntry};
pub use searcher::{
    Filter, Ranking, RequestError, SearchError, SearchRequest, SearchResponse, Searcher, Timing,
};
