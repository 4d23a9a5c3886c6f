//! Where the index of a collection is kept.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use toller_files::{DirectoryLock, FileError, Input, names_in, remove_unfinished, unfinished};
use xxhash_rust::xxh3::Xxh3;

use crate::TextsError;
use crate::manifest::{FRAMES, IDS, MANIFEST, OFFSETS};

/// The time between two tries to get a lock.
const PAUSE: Duration = Duration::from_millis(100);

/// The directory next to the first file of a collection. It is hidden, so that a collection that is a folder
/// does not contain it.
pub(crate) fn next_to(inputs: &[Input]) -> Option<PathBuf> {
    let first = inputs.first()?.path()?;
    let name = first.file_name()?.to_str()?;
    let others = if inputs.len() > 1 { format!("-and-{}-more", inputs.len() - 1) } else { String::new() };
    Some(first.with_file_name(format!(".{name}{others}.toller-texts")))
}

/// A directory of the cache for the collection of these files.
pub(crate) fn in_cache(cache: &Path, inputs: &[Input]) -> PathBuf {
    let mut hash = Xxh3::new();
    for input in inputs {
        match input.path() {
            Some(path) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
                hash.update(path.as_os_str().as_encoded_bytes());
            }
            None => hash.update(input.to_string().as_bytes()),
        }
        hash.update(b"\0");
    }
    cache.join("texts").join(format!("{:032x}", hash.digest128()))
}

/// Locks `directory` for writing, creating it if necessary; refuses a directory that holds something else.
/// Waits for another process that writes there, and calls `on_wait` before.
pub(crate) fn lock(directory: &Path, on_wait: impl FnOnce()) -> Result<DirectoryLock, TextsError> {
    let is_ours = |name: &str| [MANIFEST, IDS, FRAMES, OFFSETS, DirectoryLock::FILE].contains(&name);
    let names = names_in(directory)?;
    if let Some(entry) = names.into_iter().find(|name| !is_ours(unfinished(name).unwrap_or(name))) {
        return Err(TextsError::DirectoryInUse { path: directory.to_owned(), entry });
    }
    let mut on_wait = Some(on_wait);
    let lock = loop {
        if let Some(lock) = DirectoryLock::acquire(directory)? {
            break lock;
        }
        if let Some(on_wait) = on_wait.take() {
            on_wait();
        }
        thread::sleep(PAUSE);
    };
    remove_unfinished(directory, is_ours)?;
    Ok(lock)
}

/// Whether an error says that a directory cannot be made, written or locked, or that its disk is full, so
/// that another is tried.
pub(crate) fn is_unwritable(directory: &Path, error: &FileError) -> bool {
    let refused = matches!(
        error.source.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            // A folder above it is missing, is a file, or is a link to nowhere.
            | ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::AlreadyExists
    );
    error.path.starts_with(directory) && (refused || error.action == DirectoryLock::ACTION)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::path::Path;

    use toller_files::{DirectoryLock, FileError};

    use super::is_unwritable;

    #[test]
    fn a_disk_without_locks_or_room_is_left() {
        let directory = Path::new("cache/texts");
        let is_left = |action, kind: ErrorKind| {
            is_unwritable(directory, &FileError::new(action, directory.join(".lock"), kind.into()))
        };
        assert!(is_left(DirectoryLock::ACTION, ErrorKind::Unsupported));
        assert!(is_left("create", ErrorKind::PermissionDenied));
        assert!(is_left("write", ErrorKind::StorageFull));
        assert!(is_left("write", ErrorKind::QuotaExceeded));
        assert!(!is_left("write", ErrorKind::InvalidData));
        let elsewhere = FileError::new("open", "c.tsv", ErrorKind::NotFound.into());
        assert!(!is_unwritable(directory, &elsewhere));
    }
}
