//! Files with the expected output of a model.

use std::path::Path;

use serde::de::DeserializeOwned;
use toller_files::FileError;

use crate::error::UsageError;

/// The lines of a file, each a JSON object in the form that `form` describes.
pub(super) fn read<T: DeserializeOwned>(path: &Path, form: &str) -> crate::Result<Vec<T>> {
    let text = std::fs::read_to_string(path).map_err(FileError::on("read", path))?;
    let mut cases = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let case = serde_json::from_str(line).map_err(|error| {
            UsageError::new(
                format!("{}, line {}: {error}", path.display(), index + 1),
                format!("a line is {form}"),
            )
        })?;
        cases.push(case);
    }
    Ok(cases)
}
