//! Training data: examples, the choice among their passages, and the order of batches.

mod content;
mod example;
mod file;
mod negatives;
mod order;
mod parquet;
mod record;
mod source;
mod tsv;

pub use example::{Candidate, Example};
pub use file::ExampleFile;
pub use negatives::read_negatives;
pub(crate) use order::{Order, window};
pub use source::{Judged, Source};
