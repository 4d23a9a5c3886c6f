//! Whole jobs made of the other crates: encoding a collection into a store, searchers that go from query
//! texts to rankings, reranking, the expansion of queries by feedback, the fusion of rankings and the tuning
//! of parameters.

mod dense;
mod encode;
mod error;
pub mod feedback;
mod filter;
pub mod fusion;
mod mine;
mod ordinals;
pub mod rerank;
mod run;
mod search_job;
mod snippet;
mod sparse;
mod spilled;
pub mod tune;

pub use dense::{DenseSearcher, encode_texts, weigh_texts};
pub use encode::{EncodeJob, EncodeProgress, EncodeReport, encode};
pub use error::PipelineError;
pub use filter::{DocumentLists, QueryFilter};
pub use mine::{MineJob, Mining, QueryHits, RerankScores, Scored, positives, wanted_passages};
pub use ordinals::{Ordinals, ordinals_of};
pub use run::as_run;
pub use search_job::{SearchJob, within_memory};
pub use snippet::{best_part, matched_words};
pub use sparse::SparseSearcher;
