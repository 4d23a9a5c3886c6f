//! Training data: examples, the choice among their passages, marked texts, and the order of batches.

mod column;
mod columns;
mod content;
mod csv;
mod example;
mod fields;
mod file;
mod marked;
mod negatives;
mod order;
mod parquet;
mod record;
mod records;
mod source;
mod tsv;
mod waiting;

pub use example::{Candidate, Example};
pub(crate) use example::{key, key_of_query};
pub use file::{BadRecords, ExampleFile};
pub use marked::{MarkedFile, MarkedText};
pub use negatives::{Negatives, read_negatives};
pub(crate) use order::{Order, window};
pub use source::{Judged, LeftOut, Source};
