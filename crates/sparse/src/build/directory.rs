//! The directory in which an index is built.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toller_files::{DirectoryLock, FileError, names_in, remove_unfinished, unfinished};

use crate::SparseError;
use crate::index::{FORMER, IDS, LENGTHS, MANIFEST, Manifest, POSTINGS, TERMS, VECTORS};

/// The files of an index, of this format or a former one.
const FILES: [&str; 7] = [MANIFEST, TERMS, POSTINGS, LENGTHS, IDS, VECTORS, FORMER];

/// A locked directory, which holds an index, the remains of one, or nothing.
pub(super) struct Claimed {
    pub(super) path: PathBuf,
    _lock: DirectoryLock,
}

impl Claimed {
    /// Locks `path`, which is created if it does not exist.
    pub(super) fn new(path: &Path) -> Result<Self, SparseError> {
        if let Some(entry) = foreign_entry(path)? {
            return Err(SparseError::DirectoryInUse { path: path.to_owned(), entry });
        }
        let lock = DirectoryLock::acquire(path)?;
        let lock = lock.ok_or_else(|| SparseError::Locked(path.to_owned()))?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Removes the manifest, so that the directory is not an index while its files are replaced.
    pub(super) fn remove_manifest(&self) -> Result<(), SparseError> {
        remove(&self.path.join(MANIFEST))
    }

    /// Removes files that are not part of the index that `manifest` describes.
    pub(super) fn remove_leftovers(&self, manifest: &Manifest) -> Result<(), SparseError> {
        for name in FILES.into_iter().filter(|name| *name != MANIFEST && manifest.file(name).is_none()) {
            remove(&self.path.join(name))?;
        }
        Ok(remove_unfinished(&self.path, |name| FILES.contains(&name))?)
    }
}

fn remove(path: &Path) -> Result<(), SparseError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::new("remove", path, error).into())
        }
        _ => Ok(()),
    }
}

/// The name of a file that is neither of an index nor of an interrupted build.
fn foreign_entry(directory: &Path) -> Result<Option<String>, SparseError> {
    for name in names_in(directory)? {
        let stem = unfinished(&name).unwrap_or(&name);
        if !FILES.contains(&stem) && stem != DirectoryLock::FILE {
            return Ok(Some(name));
        }
        if name == MANIFEST
            && matches!(
                Manifest::read(directory),
                Err(SparseError::NotAnIndex { .. } | SparseError::OtherFormat { .. })
            )
        {
            return Ok(Some("a manifest.json of another kind".to_owned()));
        }
    }
    Ok(None)
}
