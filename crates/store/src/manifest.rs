//! The manifest: what a store holds, and the checksums of its files.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toller_files::{AtomicFile, FileError, is_sealed, sealed};

use crate::codes::codes_file_name;
use crate::{Checksum, CodesEntry, StoreError, StoreSpec};

/// The format version that this program writes, and the latest that it reads.
pub const FORMAT_VERSION: u64 = 1;

/// The manifest's file name.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The value of the field `format`, by which a store is told from other directories.
pub(crate) const FORMAT: &str = "toller-store";

/// A store's `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: String,
    format_version: u64,
    /// What the store holds, or will hold.
    #[serde(flatten)]
    pub spec: StoreSpec,
    /// Rows in the finished shards.
    pub count: u64,
    /// Whether all rows are written.
    pub complete: bool,
    /// The finished shards, in order.
    pub shards: Vec<ShardEntry>,
    /// The codes of the shards, one file each, where the store has been quantized.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<CodesEntry>,
}

/// A finished shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEntry {
    /// Its file name in the store's directory.
    pub file: String,
    /// Its rows, at least one.
    pub rows: usize,
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
    /// The manifest of a store in which nothing is written yet.
    pub(crate) fn new(spec: StoreSpec) -> Self {
        Self {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            spec,
            count: 0,
            complete: false,
            shards: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Reads and checks the manifest of the store in `directory`; `None` if there is none.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, StoreError> {
        let path = directory.join(MANIFEST);
        match fs::read(&path) {
            Ok(bytes) => Self::parse(&bytes, path).map(Some),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(FileError::new("read", path, error).into()),
        }
    }

    fn parse(bytes: &[u8], path: PathBuf) -> Result<Self, StoreError> {
        let head: Option<Head> = serde_json::from_slice(bytes).ok();
        // The checksum is a matter of this version; another may place it elsewhere.
        if let Some(Head { format, format_version: found }) = &head
            && format == FORMAT
            && *found > FORMAT_VERSION
        {
            return Err(StoreError::NewerFormat { path, found: *found });
        }
        if !is_sealed(bytes) {
            return Err(match (head, path.parent()) {
                (None, Some(directory)) if !contains(bytes, FORMAT.as_bytes()) => {
                    StoreError::NotAStore { path: directory.to_owned() }
                }
                _ => StoreError::ManifestChecksum { path },
            });
        }
        let manifest: Self = match serde_json::from_slice(bytes) {
            Ok(manifest) => manifest,
            Err(error) => return Err(StoreError::ManifestInvalid { path, reason: error.to_string() }),
        };
        match manifest.defect() {
            Some(reason) => Err(StoreError::ManifestInvalid { path, reason }),
            None => Ok(manifest),
        }
    }

    /// Writes the manifest of the store in `directory`, in place of the one that is there.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), StoreError> {
        let path = directory.join(MANIFEST);
        let json = serde_json::to_string_pretty(self)
            .map_err(|error| StoreError::ManifestInvalid { path: path.clone(), reason: error.to_string() })?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(sealed(&json).as_bytes()).map_err(FileError::on("write", &path))?;
        Ok(file.commit()?)
    }

    /// Why this cannot be what was written, or `None` if it can.
    fn defect(&self) -> Option<String> {
        if self.format != FORMAT || self.format_version != FORMAT_VERSION {
            return Some(format!("format {} {} is unknown", self.format, self.format_version));
        }
        if let Some(reason) = self.spec.defect() {
            return Some(reason);
        }
        let mut count = 0_u64;
        for (index, shard) in self.shards.iter().enumerate() {
            let last = self.complete && index + 1 == self.shards.len();
            let full = shard.rows == self.spec.rows_per_shard;
            if shard.file != shard_file_name(index) {
                return Some(format!("shard {index} is named {:?}", shard.file));
            }
            if !(full || (last && (1..self.spec.rows_per_shard).contains(&shard.rows))) {
                return Some(format!("{} has {} rows", shard.file, shard.rows));
            }
            count = count.saturating_add(shard.rows as u64);
        }
        let named = |(index, codes): (usize, &CodesEntry)| codes.file == codes_file_name(index);
        let coded = self.codes.is_empty() || (self.complete && self.codes.len() == self.shards.len());
        if !coded || !self.codes.iter().enumerate().all(named) {
            return Some(format!(
                "it lists {} files of codes for {} shards",
                self.codes.len(),
                self.shards.len()
            ));
        }
        let expected = self.spec.expected_rows();
        if count != self.count || count > expected || (self.complete && count != expected) {
            return Some(format!(
                "the shards have {count} rows, count is {}, the source has {expected}",
                self.count
            ));
        }
        None
    }
}

/// The file name of shard `index`.
pub(crate) fn shard_file_name(index: usize) -> String {
    format!("shard-{index:05}.safetensors")
}

pub(crate) fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}
