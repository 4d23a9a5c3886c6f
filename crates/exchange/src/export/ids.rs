//! Ids as lines.

use std::io::Read;
use std::path::Path;

use toller_files::{AtomicFile, FileError, Input, InputReader};
use toller_store::Store;

use super::{all_ids, append};
use crate::ExchangeError;

/// Writes one id a line.
pub(super) fn write(store: &Store, file: &mut AtomicFile) -> Result<(), ExchangeError> {
    for id in all_ids(store) {
        if id.contains(['\n', '\r']) {
            let (id, path) = (id.to_owned(), file.destination().to_owned());
            return Err(ExchangeError::UnwritableId { id, path, reason: "it holds a line break" });
        }
        append(file, id.as_bytes())?;
        append(file, b"\n")?;
    }
    Ok(())
}

/// Whether the file holds what [`write`] would write.
pub(super) fn are_those_of(store: &Store, path: &Path) -> Result<bool, FileError> {
    let failed = |error| FileError::new("read", path, error);
    let mut reader = InputReader::open(&Input::File(path.to_owned()))?;
    let mut found = Vec::new();
    for id in all_ids(store) {
        found.clear();
        let line = id.len() as u64 + 1;
        reader.by_ref().take(line).read_to_end(&mut found).map_err(failed)?;
        if found.strip_suffix(b"\n") != Some(id.as_bytes()) {
            return Ok(false);
        }
    }
    Ok(reader.read(&mut [0]).map_err(failed)? == 0)
}
