//! Relevance judgments.

mod detect;
mod reader;
mod writer;

pub use detect::QrelsFormat;
pub(crate) use detect::{DOCUMENT, QUERY};
pub use reader::{read_qrels, read_qrels_from};
pub use writer::qrels_separator;
