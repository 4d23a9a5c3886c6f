//! Whole jobs made of the other crates: encoding a collection into a store, and searchers that go from
//! query texts to rankings.

mod dense;
mod encode;
mod error;
mod text;

pub use dense::{DenseSearcher, encode_queries};
pub use encode::{EncodeJob, EncodeProgress, EncodeReport, encode};
pub use error::PipelineError;
pub use text::{PassageText, TitleMode, joined_text};
