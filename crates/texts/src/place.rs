//! Where the index of a collection is kept.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toller_files::{DirectoryLock, FileError, Input};
use xxhash_rust::xxh3::Xxh3;

use crate::TextsError;
use crate::manifest::{FRAMES, IDS, MANIFEST, OFFSETS};

/// The hidden directory beside the first file of a collection. (A hidden one, so that a collection that is a directory does not
/// take it for one of its files.)
pub(crate) fn beside(inputs: &[Input]) -> Option<PathBuf> {
    let first = inputs.first()?.path()?;
    let name = first.file_name()?.to_str()?;
    let others = if inputs.len() > 1 { format!("-and-{}-more", inputs.len() - 1) } else { String::new() };
    Some(first.with_file_name(format!(".{name}{others}.toller-texts")))
}

/// A directory of the cache for the collection of these files.
pub(crate) fn in_cache(cache: &Path, inputs: &[Input]) -> PathBuf {
    let mut hash = Xxh3::new();
    for path in inputs.iter().filter_map(Input::path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update(b"\0");
    }
    cache.join("texts").join(format!("{:032x}", hash.digest128()))
}

/// Locks `directory` for writing, making it if need be; refuses one that holds something else.
pub(crate) fn lock(directory: &Path) -> Result<DirectoryLock, TextsError> {
    fs::create_dir_all(directory).map_err(FileError::on("create", directory))?;
    let entries = fs::read_dir(directory).map_err(FileError::on("list", directory))?;
    for entry in entries {
        let entry = entry.map_err(FileError::on("list", directory))?.file_name();
        let name = entry.to_string_lossy();
        let ours = [MANIFEST, IDS, FRAMES, OFFSETS, DirectoryLock::FILE];
        if !ours.contains(&name.strip_suffix(".tmp").unwrap_or(&name)) {
            let (path, entry) = (directory.to_owned(), name.into_owned());
            return Err(TextsError::DirectoryInUse { path, entry });
        }
    }
    DirectoryLock::acquire(directory)?.ok_or_else(|| TextsError::Locked { path: directory.to_owned() })
}

/// Whether an error says that nothing can be written at a place, so that another is to be tried.
pub(crate) fn is_unwritable(error: &TextsError) -> bool {
    let TextsError::File(error) = error else { return false };
    matches!(error.source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}
