//! An I/O error that names its file.

use std::io;
use std::path::{Path, PathBuf};

use toller_ir::{ErrorPlace, Explain, Remedy};

use crate::DirectoryLock;

/// An I/O error, the file it happened to and what was being done.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {}", path.display(), said(source))]
pub struct FileError {
    /// What was being done, as a verb: "open", "write", "rename".
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The error of the system.
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
}

/// What the system said. Only the creation of a directory fails because there is something: a file.
fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotADirectory => "there is a file where a directory should be".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::AlreadyExists => "it is there already, and it is not a directory".to_owned(),
        _ => error.to_string(),
    }
}

impl Explain for FileError {
    fn remedy(&self) -> Option<Remedy> {
        if self.source.kind() == io::ErrorKind::OutOfMemory && self.action == "map" {
            let text = "a memory map takes addresses, not memory: raise `ulimit -v`, or limit the memory with a \
                 control group instead";
            return Some(text.into());
        }
        if self.action == DirectoryLock::ACTION {
            return Some(
                "the file system may not support locks: write to another disk and move the result".into(),
            );
        }
        match self.source.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                Some("give the name of a directory, or a new name".into())
            }
            io::ErrorKind::IsADirectory if self.action == "open" => {
                Some("name a file in it: this input is one file".into())
            }
            io::ErrorKind::IsADirectory => Some("give the name of a file".into()),
            io::ErrorKind::Unsupported if self.action == "write" => {
                Some("end its name in .gz, .xz or .zst".into())
            }
            _ => self.source.remedy(),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        Some(ErrorPlace::of_file(&self.path))
    }
}
