//! Training data: examples, the choice among their passages, and the order of batches.

mod example;
mod file;
mod negatives;
mod order;
mod record;
mod source;

pub use example::{Candidate, Example};
pub use file::ExampleFile;
pub use negatives::read_negatives;
pub(crate) use order::{Order, window};
pub use source::{Judged, Source};
