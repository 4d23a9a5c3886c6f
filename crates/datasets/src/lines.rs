//! Files of lines: JSONL and judgments.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use toller_files::{AtomicFile, FileError};

use crate::error::{CREATE_DIRECTORY, DatasetError};

/// A document of a collection.
#[derive(Serialize)]
pub(crate) struct DocumentLine<'a> {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

/// A query.
#[derive(Serialize)]
pub(crate) struct QueryLine<'a> {
    #[serde(rename = "_id")]
    pub(crate) id: &'a str,
    pub(crate) text: &'a str,
}

/// Makes the directory that files are written to, if it does not exist.
pub(crate) fn create_directory(directory: &Path) -> Result<(), FileError> {
    fs::create_dir_all(directory).map_err(FileError::on(CREATE_DIRECTORY, directory))
}

pub(crate) fn json_line<T: Serialize>(line: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(line)
}

/// Writes one line for each item.
pub(crate) fn write_lines<T>(
    path: &Path,
    items: impl Iterator<Item = T>,
    line: impl Fn(&T) -> Result<String, serde_json::Error>,
) -> Result<(), DatasetError> {
    let mut file = AtomicFile::create(path)?;
    for item in items {
        let line = line(&item).map_err(|error| FileError::new("write", path, error.into()))?;
        writeln!(file, "{line}").map_err(FileError::on("write", path))?;
    }
    Ok(file.commit()?)
}
