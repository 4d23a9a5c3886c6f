//! A file of the index while it is being written.

use std::io::Write;
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

    /// Appends `bytes`.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SparseError> {
        self.file.write_all(bytes).map_err(FileError::on("write", self.file.destination()))?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Syncs the file, gives it its final name, and returns its entry in the manifest.
    pub(super) fn commit(self) -> Result<FileEntry, SparseError> {
        let entry =
            FileEntry { file: self.name.to_owned(), bytes: self.bytes, checksum: self.hasher.finish() };
        self.file.commit()?;
        Ok(entry)
    }
}
