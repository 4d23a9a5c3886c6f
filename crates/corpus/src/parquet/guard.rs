//! Calls into the parquet crate.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

/// What is wrong with a Parquet file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BrokenParquet(pub String);

/// What is wrong with files of a compression that the parquet crate is built without.
pub(crate) const BROTLI: &str = "its pages are compressed by Brotli, which is not read";

impl From<ParquetError> for BrokenParquet {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::General(said) if said == "Disabled feature at compile time: brotli" => {
                Self(BROTLI.to_owned())
            }
            error => Self(error.to_string()),
        }
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a call of [`guard`]: a panic there is an error of the file, and a program need
/// not print it.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs a call into the parquet crate. That crate asserts some properties of well-formed files; where a
/// damaged file breaks them, the file is at fault and not the program.
///
/// # Errors
/// When the call fails or panics.
pub fn guard<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, BrokenParquet> {
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(outer);
    match result {
        Ok(result) => Ok(result?),
        Err(_) => Err(BrokenParquet("the file is damaged".to_owned())),
    }
}
