//! An unnamed file for what does not fit in memory. It vanishes with the process.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use toller_files::FileError;

use crate::SparseError;

/// A file that is first written, then read.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    directory: PathBuf,
    file: BufWriter<File>,
    bytes: usize,
}

impl TemporaryFile {
    /// On the disk of `directory`.
    pub(crate) fn new(directory: &Path) -> Result<Self, SparseError> {
        let file = tempfile::tempfile_in(directory)
            .map_err(FileError::on("create a temporary file in", directory))?;
        Ok(Self { directory: directory.to_owned(), file: BufWriter::new(file), bytes: 0 })
    }

    /// The bytes written so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SparseError> {
        self.file.write_all(bytes).map_err(FileError::on("write a temporary file in", &self.directory))?;
        self.bytes += bytes.len();
        Ok(())
    }

    /// What was written.
    pub(crate) fn finish(self) -> Result<Mmap, SparseError> {
        let file = self.file.into_inner().map_err(|error| {
            FileError::new("write a temporary file in", &self.directory, error.into_error())
        })?;
        // SAFETY: the file has no name, and this process does not write to it any more.
        let map = unsafe { Mmap::map(&file) };
        Ok(map.map_err(FileError::on("map a temporary file in", &self.directory))?)
    }
}
