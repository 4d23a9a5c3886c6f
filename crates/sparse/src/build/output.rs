//! A file of the index on its way to the disk.

use std::io::{self, Write};
use std::path::Path;

use toller_files::{AtomicFile, ChecksumHasher, FileError};

use crate::SparseError;
use crate::index::FileEntry;

/// Writes a file under a temporary name and keeps its length and checksum.
pub(super) struct OutputFile {
    name: &'static str,
    file: AtomicFile,
    hasher: ChecksumHasher,
    bytes: u64,
}

impl OutputFile {
    pub(super) fn create(directory: &Path, name: &'static str) -> Result<Self, SparseError> {
        let file = AtomicFile::create(directory.join(name))?;
        Ok(Self { name, file, hasher: ChecksumHasher::default(), bytes: 0 })
    }

    /// The bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the file will be.
    pub(super) fn path(&self) -> &Path {
        self.file.destination()
    }

    /// For `map_err`: an error of writing this file.
    pub(super) fn failed(&self, error: io::Error) -> SparseError {
        FileError::new("write", self.path(), error).into()
    }

    /// Syncs the file, gives it its name, and tells what the manifest is to say of it.
    pub(super) fn commit(self) -> Result<FileEntry, SparseError> {
        let entry =
            FileEntry { file: self.name.to_owned(), bytes: self.bytes, checksum: self.hasher.finish() };
        self.file.commit()?;
        Ok(entry)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
