//! Runs: read in every format, written in three.

mod builder;
mod columns;
mod detect;
mod dpr;
mod json;
mod lines;
mod max_passage;
mod parquet;
mod reader;
mod score;
mod writer;

pub use detect::{PARTIAL_RUN, RunFormat, are_three_column_hits, is_trec_run};
pub use dpr::{DprResult, read_dpr_results};
pub use lines::{RunLayout, id_flaw};
pub(crate) use lines::{check_writable, holds_white_space};
pub use max_passage::MaxPassage;
pub use reader::{read_run, read_run_and_format, read_run_from};
pub use score::Score;
pub use writer::{RunWriteError, TrecRunWriter};
