//! JSON files of a model.

use std::path::Path;

use serde::de::DeserializeOwned;
use toller_files::{FileError, read_regular};
use toller_ir::in_words_of_json;

use crate::ModelError;

/// Reads a JSON file. `None` if there is no such file.
///
/// # Errors
/// [`ModelError::File`], and [`ModelError::Config`] for a file that is not what `T` expects.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ModelError> {
    if path.is_file() { required_json(path).map(Some) } else { Ok(None) }
}

/// Reads a JSON file that must exist.
///
/// # Errors
/// As for [`read_json`].
pub fn required_json<T: DeserializeOwned>(path: &Path) -> Result<T, ModelError> {
    let text = read_regular(path).map_err(FileError::on("read", path))?;
    serde_json::from_slice(&text)
        .map_err(|error| ModelError::Config { problem: in_words_of_json(error), path: path.to_owned() })
}
