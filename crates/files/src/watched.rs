//! Files that must not change while they are read.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::sync::Arc;

use toller_ir::{AnyError, Explain, Remedy};

use crate::Stamp;

/// An open file, and the size and age that it had when it was opened. A read fails after the file was written
/// in place, so that what was read is always of one version. A file that is renamed over the path does not
/// matter: the open one is read to its end.
#[derive(Clone, Debug)]
pub struct WatchedFile {
    file: Arc<File>,
    stamp: Stamp,
}

impl WatchedFile {
    pub(crate) fn new(file: File, metadata: &Metadata) -> Self {
        Self { file: Arc::new(file), stamp: Stamp::of(metadata) }
    }

    /// The file's size and age when it was opened.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Checks that the file is as it was when it was opened. What was read before is of that version.
    ///
    /// # Errors
    /// When it has changed.
    pub fn check(&self) -> io::Result<()> {
        if Stamp::of(&self.file.metadata()?) == self.stamp { Ok(()) } else { Err(has_changed()) }
    }
}

impl Read for WatchedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file().read(buffer)?;
        self.check()?;
        Ok(read)
    }
}

/// A file is not what it was.
#[derive(Debug, thiserror::Error)]
#[error("it has changed since this command first read it")]
struct Changed;

impl Explain for Changed {
    fn remedy(&self) -> Option<Remedy> {
        Some("run the same command again, when nobody writes the file".into())
    }
}

/// The error of a file that is not what it was when the command first read it.
#[must_use]
pub fn has_changed() -> io::Error {
    io::Error::other(AnyError::from(Changed))
}
