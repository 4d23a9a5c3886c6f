//! Ids as lines.

use std::io::Write;
use std::path::Path;

use toller_files::{AtomicFile, FileError};
use toller_store::Store;

use super::all_ids;
use crate::ExchangeError;

/// Writes one id a line.
pub(super) fn write(store: &Store, path: &Path) -> Result<(), ExchangeError> {
    let mut file = AtomicFile::create(path)?;
    for id in all_ids(store) {
        if id.contains(['\n', '\r']) {
            let (id, path) = (id.to_owned(), path.to_owned());
            return Err(ExchangeError::UnwritableId { id, path, reason: "it holds a line break" });
        }
        file.write_all(id.as_bytes()).map_err(FileError::on("write", path))?;
        file.write_all(b"\n").map_err(FileError::on("write", path))?;
    }
    Ok(file.commit()?)
}
