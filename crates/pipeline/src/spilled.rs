//! Bytes that are written once and then read: few in memory, many in a mapped file.

use std::env::temp_dir;
use std::io::{self, BufWriter, Write};
use std::ops::Deref;

use memmap2::Mmap;
use tempfile::{SpooledData, SpooledTempFile};
use toller_files::{FileError, map};

/// Bytes that stay in memory: those of a million identifiers in [`Ordinals`](crate::Ordinals).
const IN_MEMORY: usize = 24_000_000;

/// Bytes in memory, or many in a mapped temporary file without a name.
#[derive(Debug)]
pub(crate) enum Spilled {
    InMemory(Vec<u8>),
    Mapped(Mmap),
}

impl Deref for Spilled {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InMemory(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

/// Writes [`Spilled`] bytes.
pub(crate) struct SpillWriter(BufWriter<SpooledTempFile>);

impl SpillWriter {
    /// At most this many bytes stay in memory.
    pub(crate) fn with_memory(most: usize) -> Self {
        Self(BufWriter::new(SpooledTempFile::new(most)))
    }

    /// # Errors
    /// When the temporary file cannot be made or written.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.0.write_all(bytes).map_err(failed)
    }

    /// # Errors
    /// When the temporary file cannot be written or mapped.
    pub(crate) fn finish(self) -> Result<Spilled, FileError> {
        let written = self.0.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok(match written.into_inner() {
            SpooledData::InMemory(bytes) => Spilled::InMemory(bytes.into_inner()),
            SpooledData::OnDisk(file) => Spilled::Mapped(map(&file, &temp_dir())?),
        })
    }
}

impl Default for SpillWriter {
    fn default() -> Self {
        Self::with_memory(IN_MEMORY)
    }
}

fn failed(error: io::Error) -> FileError {
    FileError::new("write a file in", temp_dir(), error)
}

#[cfg(test)]
mod tests {
    use super::{SpillWriter, Spilled};

    #[test]
    fn many_bytes_are_in_a_file() {
        for (most, mapped) in [(300, false), (299, true)] {
            let mut writer = SpillWriter::with_memory(most);
            (0..100_u8).for_each(|byte| writer.push(&[byte; 3]).unwrap());
            let bytes = writer.finish().unwrap();
            assert_eq!(bytes.to_vec(), (0..100).flat_map(|byte| [byte; 3]).collect::<Vec<_>>());
            assert_eq!(matches!(bytes, Spilled::Mapped(_)), mapped);
        }
    }
}
