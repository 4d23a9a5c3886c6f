//! Calls into the parquet crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

/// What is wrong with a Parquet file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BrokenParquet(pub String);

impl From<ParquetError> for BrokenParquet {
    fn from(error: ParquetError) -> Self {
        Self(error.to_string())
    }
}

/// Runs a call into the parquet crate. That crate asserts some properties of well-formed files; where a
/// damaged file breaks them, the file is at fault and not the program.
///
/// # Errors
/// When the call fails or panics.
pub fn guard<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, BrokenParquet> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => Ok(result?),
        Err(_) => Err(BrokenParquet("the file is damaged".to_owned())),
    }
}
