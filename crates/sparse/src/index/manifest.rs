//! The manifest: what an index holds, and the checksums of its files.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use toller_files::{AtomicFile, Checksum, FileError, is_sealed, sealed};

use super::MANIFEST;
use crate::SparseError;
use crate::score::Statistics;

/// The format version that this program writes and reads.
pub const FORMAT_VERSION: u64 = 4;

/// The value of the field `format`, which distinguishes an index from other directories.
const FORMAT: &str = "toller-index";

/// An index's `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    format: String,
    format_version: u64,
    /// What made the terms.
    pub analyzer: AnalyzerInfo,
    /// What was indexed.
    pub source: Source,
    /// What scores depend on.
    #[serde(flatten)]
    pub statistics: Statistics,
    /// The other files.
    pub files: Vec<FileEntry>,
}

/// The analyzer of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalyzerInfo {
    /// Its name.
    pub name: String,
    /// A hash of the terms that it makes of a text in many languages: it changes when the analyzer changes.
    pub fingerprint: String,
}

/// The collection of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Identifies the identifiers, titles and texts, and their order.
    pub fingerprint: String,
    /// The number of documents.
    pub passages: u64,
    /// The text between a title and a passage.
    pub title_separator: String,
}

/// A file of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its name in the index's directory.
    pub file: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The checksum of all its bytes.
    pub checksum: Checksum,
}

/// The fields that every version of the format has.
#[derive(Deserialize)]
struct Head {
    format: String,
    format_version: u64,
}

impl Manifest {
    pub(crate) fn new(
        analyzer: AnalyzerInfo,
        source: Source,
        statistics: Statistics,
        files: Vec<FileEntry>,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            analyzer,
            source,
            statistics,
            files,
        }
    }

    /// The entry of a file.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&FileEntry> {
        self.files.iter().find(|entry| entry.file == name)
    }

    /// The bytes of all files but the manifest.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|entry| entry.bytes).sum()
    }

    /// Reads the manifest of the index in `directory`; `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, has another version, or belongs to something else.
    pub fn read(directory: &Path) -> Result<Option<Self>, SparseError> {
        let path = directory.join(MANIFEST);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(FileError::new("read", path, error).into()),
        };
        let head: Option<Head> = serde_json::from_slice(&bytes).ok();
        match head {
            Some(Head { format, format_version: found }) if format == FORMAT && found != FORMAT_VERSION => {
                return Err(SparseError::FormatVersion { path, found });
            }
            Some(Head { format, .. }) if format != FORMAT => {
                return Err(SparseError::NotAnIndex { path: directory.to_owned() });
            }
            // A manifest of an index that does not parse still contains the word.
            None if !bytes.windows(FORMAT.len()).any(|word| word == FORMAT.as_bytes()) => {
                return Err(SparseError::NotAnIndex { path: directory.to_owned() });
            }
            _ => {}
        }
        let damaged = |reason: String| SparseError::ManifestDamaged { path: path.clone(), reason };
        if !is_sealed(&bytes) {
            return Err(damaged("its checksum does not match its content".to_owned()));
        }
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if manifest.statistics.docs >= u64::from(u32::MAX) {
            return Err(damaged(format!("it has {} documents", manifest.statistics.docs)));
        }
        Ok(Some(manifest))
    }

    /// Writes the manifest of the index in `directory`.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), SparseError> {
        let path = directory.join(MANIFEST);
        let json = serde_json::to_string_pretty(self)
            .map_err(|error| FileError::new("write", &path, error.into()))?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(sealed(&json).as_bytes()).map_err(FileError::on("write", &path))?;
        Ok(file.commit()?)
    }
}
