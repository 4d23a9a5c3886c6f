//! Collections: passages, read one at a time from any number of files.

mod detect;
mod jsonl;
mod parquet;
mod reader;
mod record;
mod trec;
mod tsv;

pub use detect::CollectionFormat;
pub use reader::{CollectionReader, Location, open_collection, read_collection_from};
pub use record::{RecordLayout, RecordPlace};
pub use tsv::Columns;
