//! Whole jobs made of the other crates: encoding a collection into a store, searchers that go from query texts to
//! rankings, and the fusion of rankings.

mod dense;
mod encode;
mod error;
mod filter;
pub mod fusion;
mod text;

pub use dense::{DenseSearcher, Nominated, encode_queries};
pub use encode::{EncodeJob, EncodeProgress, EncodeReport, encode};
pub use error::PipelineError;
pub use filter::QueryFilter;
pub use text::{PassageText, TitleMode, joined_text};
