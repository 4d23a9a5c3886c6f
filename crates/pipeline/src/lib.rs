//! Whole jobs made of the other crates: encoding a collection into a store, searchers that go from query texts to
//! rankings, reranking, the expansion of queries by feedback, the fusion of rankings and the tuning of parameters.

mod analyzer;
mod dense;
mod encode;
mod error;
pub mod feedback;
mod filter;
pub mod fusion;
mod mine;
pub mod rerank;
mod sparse;
mod text;
pub mod tune;

pub use analyzer::{AnalyzerError, analyzer_by_name};
pub use dense::{DenseSearcher, Nominated, encode_queries};
pub use encode::{EncodeJob, EncodeProgress, EncodeReport, encode};
pub use error::PipelineError;
pub use filter::QueryFilter;
pub use mine::{Chosen, QueryHits, choose_negatives, positives, wanted_passages};
pub use sparse::SparseSearcher;
pub use text::{TitleMode, joined_text};
