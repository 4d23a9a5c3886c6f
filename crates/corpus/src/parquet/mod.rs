//! Columns of Parquet files, row by row, from files that may be damaged.
//!
//! [`Column`] reads strings and integers, [`ListColumn`] lists of floats; both hold a few hundred rows at a
//! time. [`ParquetSource`] is a file or an object. Every call into the parquet crate goes through
//! [`guard`], which turns a panic into an error.

pub(crate) mod file;
mod guard;
mod lists;
mod rows;
mod source;
mod values;

pub(crate) use guard::BROTLI;
pub use guard::{BrokenParquet, guard, is_guarded};
pub use lists::{ListColumn, Precision};
pub use source::ParquetSource;
pub use values::{Column, Value};

/// How many rows are decoded at a time.
const BATCH_ROWS: usize = 256;
