//! Collections: passages, read one at a time from any number of files.

mod columns;
mod detect;
mod jsonl;
mod parquet;
mod reader;
mod record;
mod source;
mod trec;
mod tsv;

pub use columns::Columns;
pub use detect::CollectionFormat;
pub use reader::{CollectionReader, Location, open_collection, read_collection_from};
pub use source::{RecordLayout, RecordPlace};
