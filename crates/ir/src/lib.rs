//! The vocabulary that every crate shares: documents, queries, hits, runs, qrels, the [`Searcher`] that turns
//! queries into hits, the [`Remedy`] of an error, texts with impacts ([`impacts()`]), the identity of a model
//! ([`ModelInfo`]), how threads lock a value ([`locked()`]), and the random numbers of a seed
//! ([`SplitMix64`]). No I/O, and no dependency on other crates of the workspace.

mod counted;
mod doc_set;
mod hit;
mod impact;
mod json_words;
mod locked;
mod model_info;
mod named;
mod passage;
mod place;
mod qrels;
mod query;
mod random;
mod remedy;
mod role;
mod run;
mod searcher;

pub use counted::counted;
pub use doc_set::DocSet;
pub use hit::{DocOrd, Hit};
pub use impact::{MAX_IMPACT, NO_IMPACTS, has_impacts, impacts, is_term, push_impact};
pub use json_words::{in_words_of_json, in_words_of_json_line};
pub use locked::locked;
pub use model_info::ModelInfo;
pub use named::UnknownName;
pub use passage::Passage;
pub use place::{ErrorPlace, Position};
pub use qrels::{Qrels, is_relevant};
pub use query::Query;
pub use random::SplitMix64;
pub use remedy::{AnyError, Command, Explain, Part, Remedy, Setting, Term};
pub use role::Role;
pub use run::{Run, RunEntry};
pub use searcher::{
    Filter, Ranking, RequestError, SearchError, SearchRequest, SearchResponse, Searcher, StageRankings,
    Timing,
};
