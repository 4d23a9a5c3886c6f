//! Queries: topics, questions, with or without answers.

mod detect;
mod json;
mod lines;
mod reader;
mod sink;
mod trec;
mod tsv;

pub use detect::QueryFormat;
pub(crate) use json::FIELDS;
pub use reader::{QueriesOfFile, read_queries, read_queries_by_file, read_queries_from};
pub(crate) use sink::{row_prefix, stems};
