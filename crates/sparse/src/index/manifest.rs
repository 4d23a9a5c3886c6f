//! The manifest: what an index holds, and the checksums of its files.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toller_analysis::Analyzer;
use toller_files::{Checksum, Found, ListedFile, ManifestFormat};
use toller_ir::ModelInfo;

use super::MANIFEST;
use crate::SparseError;
use crate::score::Statistics;

/// The format version that this program writes and reads.
pub const FORMAT_VERSION: u64 = 4;

/// What distinguishes an index from other directories.
const FORMAT: ManifestFormat = ManifestFormat { name: "toller-index", version: FORMAT_VERSION };

/// An index's `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
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
    /// The text between a title and a passage; `None` if titles are left out.
    pub title_separator: Option<String>,
    /// The learned sparse model that gave the terms of documents their impacts, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelInfo>,
}

impl Source {
    /// Whether both are the same. One model may have two names.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let fingerprint = |source: &Self| source.model.as_ref().map(|model| model.fingerprint.clone());
        fingerprint(self) == fingerprint(other)
            && *self == Self { model: self.model.clone(), ..other.clone() }
    }
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

impl FileEntry {
    pub(super) fn listed(&self, directory: &Path) -> ListedFile {
        ListedFile { path: directory.join(&self.file), bytes: self.bytes, checksum: self.checksum }
    }
}

impl From<ListedFile> for FileEntry {
    fn from(ListedFile { path, bytes, checksum }: ListedFile) -> Self {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { file, bytes, checksum }
    }
}

impl Manifest {
    /// The entry of a file.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&FileEntry> {
        self.files.iter().find(|entry| entry.file == name)
    }

    /// Whether the frequencies of terms are impacts: weights that a learned sparse model has given.
    #[must_use]
    pub fn has_impacts(&self) -> bool {
        self.analyzer.name == Analyzer::IMPACT
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
        let reason = match FORMAT.read::<Self>(&path)? {
            Found::Nothing => return Ok(None),
            Found::Foreign(Some(format)) => {
                return Err(SparseError::OtherFormat { path: directory.to_owned(), format });
            }
            Found::Cut | Found::Foreign(None) => return Err(SparseError::NotAnIndex(directory.to_owned())),
            Found::OtherVersion(found) => return Err(SparseError::FormatVersion { path, found }),
            Found::Damaged(reason) => reason,
            Found::Manifest(manifest) if manifest.statistics.docs < u64::from(u32::MAX) => {
                return Ok(Some(manifest));
            }
            Found::Manifest(manifest) => format!("it has {} documents", manifest.statistics.docs),
        };
        Err(SparseError::ManifestDamaged { path, reason })
    }

    /// Writes the manifest of the index in `directory`.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), SparseError> {
        Ok(FORMAT.write(&directory.join(MANIFEST), self)?)
    }
}
