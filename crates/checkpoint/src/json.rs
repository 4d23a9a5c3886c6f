//! JSON files of a model.

use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;
use toller_ir::in_words_of_json;

use crate::{ModelError, read_file};

/// Reads a JSON file. `None` if there is no such file. A link that leads nowhere is an error: without its
/// settings, the model would be another one.
///
/// # Errors
/// [`ModelError::File`], and [`ModelError::Config`] for a file that is not what `T` expects.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ModelError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Ok(found) if found.is_symlink() && !path.exists() => {
            let problem = "this link leads to a file that is not there".to_owned();
            Err(ModelError::Config { path: path.to_owned(), problem })
        }
        _ => required_json(path).map(Some),
    }
}

/// Reads a JSON file that must exist.
///
/// # Errors
/// As for [`read_json`].
pub fn required_json<T: DeserializeOwned>(path: &Path) -> Result<T, ModelError> {
    serde_json::from_slice(&read_file(path)?)
        .map_err(|error| ModelError::Config { problem: in_words_of_json(error), path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::read_json;

    #[cfg(unix)]
    #[test]
    fn only_a_file_that_is_not_there_is_none() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("config.json");
        assert!(read_json::<Value>(&path)?.is_none());
        std::os::unix::fs::symlink(folder.path().join("pruned"), &path)?;
        assert!(read_json::<Value>(&path).is_err());
        std::fs::write(folder.path().join("pruned"), "{}")?;
        assert!(read_json::<Value>(&path)?.is_some());
        Ok(())
    }
}
