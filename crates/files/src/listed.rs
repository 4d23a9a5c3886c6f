//! The files that a manifest lists: written with their length and checksum, verified when they are mapped.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::{AtomicFile, Checksum, ChecksumHasher, CompleteFile, FileError, Verifier, map, open_regular};

/// A file as a manifest lists it.
#[derive(Clone, Debug)]
pub struct ListedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// The checksum of all its bytes.
    pub checksum: Checksum,
}

/// Why a listed file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ListedFileError {
    /// The system refused an operation.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is missing or not as it was written; the text says what is wrong.
    #[error("{0}")]
    Damaged(String),
}

impl ListedFile {
    /// Maps the file and verifies it.
    ///
    /// # Errors
    /// When the file is missing or not as it was written, or the system refuses to open it.
    pub fn map(&self, verifier: &Verifier<'_>) -> Result<Mmap, ListedFileError> {
        let path = &self.path;
        let file = open_regular(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ListedFileError::Damaged("it is missing".to_owned()),
            io::ErrorKind::InvalidInput => ListedFileError::Damaged(error.to_string()),
            _ => FileError::new("open", path, error).into(),
        })?;
        let found = file.metadata().map_err(FileError::on("examine", path))?.len();
        if found != self.bytes {
            let reason = format!("it has {found} bytes, but the manifest says {}", self.bytes);
            return Err(ListedFileError::Damaged(reason));
        }
        let map = map(&file, path)?;
        self.verify(&map, verifier)?;
        Ok(map)
    }

    /// Verifies the checksum of the file's bytes.
    ///
    /// # Errors
    /// [`ListedFileError::Damaged`] if it is wrong.
    pub fn verify(&self, bytes: &[u8], verifier: &Verifier<'_>) -> Result<(), ListedFileError> {
        match verifier.checksum(bytes) {
            Some(found) if found != self.checksum => {
                let reason = format!("its checksum is {found}, but the manifest says {}", self.checksum);
                Err(ListedFileError::Damaged(reason))
            }
            _ => Ok(()),
        }
    }
}

/// Writes a file under a temporary name, and keeps its length and checksum for the manifest.
pub struct ListedFileWriter {
    file: AtomicFile,
    hasher: ChecksumHasher,
    bytes: u64,
}

impl ListedFileWriter {
    /// Starts writing the file at `path`.
    ///
    /// # Errors
    /// When it cannot be created, or there is a directory.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        Ok(Self { file: AtomicFile::replace(path)?, hasher: ChecksumHasher::default(), bytes: 0 })
    }

    /// The bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.file.write_all(bytes).map_err(FileError::on("write", self.file.destination()))?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Syncs the file and gives it its final name.
    ///
    /// # Errors
    /// Those of [`AtomicFile::commit`].
    pub fn commit(self) -> Result<ListedFile, FileError> {
        self.complete()?.commit()
    }

    /// Syncs the file, which still has its temporary name: for files that belong together, which get their
    /// names only when all are complete.
    ///
    /// # Errors
    /// Those of [`AtomicFile::complete`].
    pub fn complete(self) -> Result<CompleteListedFile, FileError> {
        let (path, checksum) = (self.file.destination().to_owned(), self.hasher.finish());
        let file = self.file.complete()?;
        Ok(CompleteListedFile { file, listed: ListedFile { path, bytes: self.bytes, checksum } })
    }
}

/// A file that has all its bytes and a temporary name. Dropping it without a commit removes it.
#[derive(Debug)]
#[must_use = "it is removed unless it is committed"]
pub struct CompleteListedFile {
    file: CompleteFile,
    listed: ListedFile,
}

impl CompleteListedFile {
    /// What the manifest will say.
    #[must_use]
    pub fn listed(&self) -> &ListedFile {
        &self.listed
    }

    /// Maps the file under the name that it has.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn map(&self) -> Result<Mmap, FileError> {
        let path = self.file.path();
        map(&open_regular(path).map_err(FileError::on("open", path))?, path)
    }

    /// Gives the file its final name.
    ///
    /// # Errors
    /// Those of [`CompleteFile::commit`].
    pub fn commit(self) -> Result<ListedFile, FileError> {
        self.file.commit()?;
        Ok(self.listed)
    }
}
