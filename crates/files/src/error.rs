//! An I/O error that names its file.

use std::io;
use std::path::{Path, PathBuf};

/// An I/O error, the file it happened to and what was being done.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// What was being done, as a verb: "open", "write", "rename".
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// An error of `action` on `path`.
    #[must_use]
    pub fn new(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self { action, path: path.into(), source }
    }

    /// For `map_err`: wraps the I/O error of `action` on `path`.
    pub fn on(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::new(action, path, source)
    }

    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self.source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Some("free some space on that disk and run the same command again".to_owned())
            }
            io::ErrorKind::NotFound => {
                Some("check the path; relative paths start at the current directory".to_owned())
            }
            io::ErrorKind::PermissionDenied => {
                Some("check the permissions of the file and of its directory".to_owned())
            }
            io::ErrorKind::UnexpectedEof => {
                Some("copy or download the file again; it is incomplete".to_owned())
            }
            io::ErrorKind::InvalidData => {
                Some("copy or download the file again; compare its checksum".to_owned())
            }
            io::ErrorKind::OutOfMemory if self.action == "map" => Some(
                "a memory map takes addresses, not memory: raise `ulimit -v`, or limit the memory with a control group instead"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}
