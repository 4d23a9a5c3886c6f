//! Collections: passages, read one at a time from any number of files.

mod columns;
mod detect;
mod json;
mod parquet;
mod reader;
mod record;
mod source;
mod table;
mod trec;
mod tsv;

pub use columns::Columns;
pub use detect::CollectionFormat;
pub use reader::{
    CollectionReader, Location, open_collection, open_table, read_collection_from, reopen_collection,
};
pub use source::{RecordLayout, RecordPlace};
pub use table::{Cells, Table};
