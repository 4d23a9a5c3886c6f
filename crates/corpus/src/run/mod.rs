//! Runs: read in every format, written as TREC's.

mod builder;
mod columns;
mod detect;
mod json;
mod reader;
mod writer;

pub use detect::RunFormat;
pub use reader::{read_run, read_run_from};
pub(crate) use writer::holds_white_space;
pub use writer::{RunLines, RunWriteError, Score, TrecRunWriter};
