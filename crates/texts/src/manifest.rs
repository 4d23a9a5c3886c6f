//! The manifest of a text index: which files it is about, and the checksums of its own.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toller_corpus::{CollectionFormat, ColumnNames, ReadOptions, RecordLayout};
use toller_files::{Checksum, FileError, Input, ListedFile, ManifestFormat, Stamp};

pub(crate) const MANIFEST: &str = "manifest.json";

/// The sorted entries.
pub(crate) const IDS: &str = "ids.bin";
/// The frames.
pub(crate) const FRAMES: &str = "texts.zst";
/// Where each frame begins.
pub(crate) const OFFSETS: &str = "frames.bin";

/// The format version that this program writes and reads. Version 1 had less of TREC's newswire.
pub(crate) const FORMAT_VERSION: u64 = 2;

pub(crate) const FORMAT: ManifestFormat = ManifestFormat { name: "toller-texts", version: FORMAT_VERSION };

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The collection's files, in order.
    pub(crate) sources: Vec<Source>,
    /// How they were read.
    reading: Reading,
    pub(crate) passages: u64,
    /// Identifies identifiers, titles and texts, and their order.
    pub(crate) fingerprint: String,
    /// Bad lines that were skipped, later duplicates among them.
    pub(crate) skipped: u64,
    pub(crate) ids: FileEntry,
    /// Where the frames begin, and how long all of them are; they have checksums of their own.
    pub(crate) offsets: FileEntry,
    pub(crate) frames_bytes: u64,
}

/// The options that decide which passages a file has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Reading {
    format: Option<String>,
    skip_bad_lines: bool,
    max_line_bytes: usize,
    #[serde(default, skip_serializing_if = "ColumnNames::are_usual")]
    columns: ColumnNames,
}

/// A file of the collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Source {
    /// Its name, without its directories: a collection may be moved together with its index.
    file: String,
    bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    modified: u64,
    /// How its records are read in place; `None` if they are in frames.
    pub(crate) layout: Option<RecordLayout>,
}

/// A file of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) bytes: u64,
    pub(crate) checksum: Checksum,
}

impl From<ListedFile> for FileEntry {
    fn from(file: ListedFile) -> Self {
        Self { bytes: file.bytes, checksum: file.checksum }
    }
}

impl Source {
    /// What is known of a file before it is read.
    pub(crate) fn of(input: &Input) -> Result<Self, FileError> {
        let name = match input {
            Input::Object(url) => Path::new(url),
            _ => input.path().unwrap_or(Path::new("-")),
        };
        let Stamp { bytes, modified } = input.stamp()?.unwrap_or(Stamp { bytes: 0, modified: 0 });
        let file = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { file, bytes, modified, layout: None })
    }

    fn is_same_file(&self, other: &Self) -> bool {
        (&self.file, self.bytes, self.modified) == (&other.file, other.bytes, other.modified)
    }
}

impl Reading {
    fn of(options: &ReadOptions<CollectionFormat>) -> Self {
        Self {
            format: options.format.map(|format| format.name().to_owned()),
            skip_bad_lines: options.skip_bad_lines,
            max_line_bytes: options.max_line_bytes,
            columns: options.columns.clone(),
        }
    }
}

impl Manifest {
    /// A manifest of these sources before they are read.
    pub(crate) fn new(sources: Vec<Source>, options: &ReadOptions<CollectionFormat>) -> Self {
        let nothing = FileEntry { bytes: 0, checksum: Checksum::of(b"") };
        Self {
            sources,
            reading: Reading::of(options),
            passages: 0,
            fingerprint: String::new(),
            skipped: 0,
            ids: nothing.clone(),
            offsets: nothing,
            frames_bytes: 0,
        }
    }

    /// Why this is not the index of `sources`, if it is not.
    pub(crate) fn difference(
        &self,
        sources: &[Source],
        options: &ReadOptions<CollectionFormat>,
    ) -> Option<String> {
        if self.sources.len() != sources.len() {
            return Some(format!("it is of {} files, not of {}", self.sources.len(), sources.len()));
        }
        let changed = self.sources.iter().zip(sources).find(|(then, now)| !then.is_same_file(now));
        if let Some((then, now)) = changed {
            return Some(if then.file == now.file {
                format!("{} has changed", now.file)
            } else {
                format!("it is of {}, not of {}", then.file, now.file)
            });
        }
        (self.reading != Reading::of(options)).then(|| "the files were read with other options".to_owned())
    }
}
