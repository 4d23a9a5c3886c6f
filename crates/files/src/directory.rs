//! What a directory holds.

use std::fs;
use std::io;
use std::path::Path;

use crate::{FileError, unfinished};

/// The names in a directory, sorted; none if the directory does not exist.
///
/// # Errors
/// When the directory cannot be listed.
pub fn names_in(directory: &Path) -> Result<Vec<String>, FileError> {
    let names = fs::read_dir(directory).and_then(|entries| {
        entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<String>>>()
    });
    match names {
        Ok(mut names) => {
            names.sort_unstable();
            Ok(names)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(FileError::new("list", directory, error)),
    }
}

/// Removes the temporary files of killed writers, if `is_ours` accepts the name of the destination. No other
/// process may write these files, or it would lose them.
///
/// # Errors
/// When the directory cannot be listed or a file cannot be removed.
pub fn remove_unfinished(directory: &Path, is_ours: impl Fn(&str) -> bool) -> Result<(), FileError> {
    for name in names_in(directory)?.iter().filter(|name| unfinished(name).is_some_and(&is_ours)) {
        let path = directory.join(name);
        if path.is_dir() {
            continue;
        }
        fs::remove_file(&path).map_err(FileError::on("remove", &path))?;
    }
    Ok(())
}
