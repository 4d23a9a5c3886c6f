//! Relevance judgments.

mod detect;
mod reader;

pub use detect::QrelsFormat;
pub use reader::{read_qrels, read_qrels_from};
