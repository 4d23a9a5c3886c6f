//! The directory in which an index is built.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toller_files::{DirectoryLock, FileError};

use crate::SparseError;
use crate::index::{FORMER, IDS, LENGTHS, MANIFEST, Manifest, POSTINGS, TERMS, VECTORS};

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
        fs::create_dir_all(path).map_err(FileError::on("create", path))?;
        let lock = DirectoryLock::acquire(path)?;
        let lock = lock.ok_or_else(|| SparseError::Locked { path: path.to_owned() })?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Removes the manifest, so that the directory is no index while its files are replaced.
    pub(super) fn remove_manifest(&self) -> Result<(), SparseError> {
        remove(&self.path.join(MANIFEST))
    }

    /// Removes files that are not part of the index that `manifest` describes.
    pub(super) fn remove_leftovers(&self, manifest: &Manifest) -> Result<(), SparseError> {
        for name in [TERMS, POSTINGS, LENGTHS, IDS, VECTORS, MANIFEST, FORMER] {
            remove(&self.path.join(format!("{name}.tmp")))?;
            if name != MANIFEST && manifest.file(name).is_none() {
                remove(&self.path.join(name))?;
            }
        }
        Ok(())
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
    let failed = |error| FileError::new("list", directory, error);
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error).into()),
    };
    let mut foreign: Vec<String> = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let stem = name.strip_suffix(".tmp").unwrap_or(&name);
        if stem == MANIFEST && stem == name {
            if matches!(Manifest::read(directory), Err(SparseError::NotAnIndex { .. })) {
                return Ok(Some("a manifest.json of another kind".to_owned()));
            }
        } else if ![MANIFEST, TERMS, POSTINGS, LENGTHS, IDS, VECTORS, FORMER, DirectoryLock::FILE]
            .contains(&stem)
        {
            foreign.push(name);
        }
    }
    Ok(foreign.into_iter().min())
}
