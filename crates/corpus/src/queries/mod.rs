//! Queries: topics, questions, with or without answers.

mod detect;
mod json;
mod lines;
mod parquet;
mod reader;
mod records;
mod sink;
mod trec;
mod tsv;

pub use detect::QueryFormat;
pub use reader::{QueriesOfFile, read_queries, read_queries_by_file, read_queries_from};
pub(crate) use sink::{row_prefix, stems};
