//! The manifest: what a store holds, and the checksums of its files.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toller_files::{ChecksumHasher, Found, ListedFile, ManifestFormat};

use crate::codes::codes_file_name;
use crate::{Checksum, CodesEntry, Content, StoreError, StoreSpec};

/// The format version that this program writes and reads.
pub const FORMAT_VERSION: u64 = 1;

/// The manifest's file name.
pub(crate) const MANIFEST: &str = "manifest.json";

/// What distinguishes a store from other directories.
pub(crate) const FORMAT: ManifestFormat = ManifestFormat { name: "toller-store", version: FORMAT_VERSION };

/// A store's `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What the store holds, or will hold.
    #[serde(flatten)]
    pub spec: StoreSpec,
    /// Rows in the finished shards.
    pub count: u64,
    /// Whether all rows are written.
    pub complete: bool,
    /// The finished shards, in order.
    pub shards: Vec<ShardEntry>,
    /// The codes of the shards, one file for each, if the store has been quantized.
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

impl Manifest {
    /// The manifest's file name.
    pub const FILE: &str = MANIFEST;

    /// The manifest of a store without rows.
    pub(crate) fn new(spec: StoreSpec) -> Self {
        Self { spec, count: 0, complete: false, shards: Vec::new(), codes: Vec::new() }
    }

    /// Reads and checks the manifest of the store in `directory`; `None` if there is none.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, StoreError> {
        Self::checked(FORMAT.read(&directory.join(MANIFEST))?, directory)
    }

    /// Checks the bytes of the manifest that belongs in `directory`.
    ///
    /// # Errors
    /// When they are not a store's manifest, or a damaged one, or one of another format version.
    pub fn parse(bytes: &[u8], directory: &Path) -> Result<Self, StoreError> {
        let parsed = Self::checked(FORMAT.parse(bytes), directory)?;
        parsed.ok_or_else(|| StoreError::NotAStore { path: directory.to_owned() })
    }

    /// The files that this lists, where they are if the manifest is in `directory`.
    pub fn files(&self, directory: &Path) -> impl Iterator<Item = ListedFile> {
        let listed = |file: &str, bytes, checksum| ListedFile { path: directory.join(file), bytes, checksum };
        let shards = self.shards.iter().map(move |of| listed(&of.file, of.bytes, of.checksum));
        shards.chain(self.codes.iter().map(move |of| listed(&of.file, of.bytes, of.checksum)))
    }

    fn checked(found: Found<Self>, directory: &Path) -> Result<Option<Self>, StoreError> {
        let path = directory.join(MANIFEST);
        let reason = match found {
            Found::Nothing => return Ok(None),
            Found::Cut => "it is empty or cut short".to_owned(),
            Found::Foreign(Some(format)) => {
                return Err(StoreError::OtherFormat { path: directory.to_owned(), format });
            }
            Found::Foreign(None) => return Err(StoreError::NotAStore { path: directory.to_owned() }),
            Found::OtherVersion(found) => return Err(StoreError::FormatVersion { path, found }),
            Found::Damaged(reason) => reason,
            Found::Manifest(manifest) => match manifest.defect() {
                Some(reason) => reason,
                None => return Ok(Some(manifest)),
            },
        };
        Err(StoreError::ManifestDamaged { path, reason })
    }

    /// Writes the manifest of the store in `directory`, replacing the old one.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), StoreError> {
        Ok(FORMAT.write(&directory.join(MANIFEST), self)?)
    }

    /// Why this cannot be what was written, or `None` if it can.
    fn defect(&self) -> Option<String> {
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
        let can_have_codes = self.complete && self.spec.content != Content::Impacts;
        let coded = self.codes.is_empty() || (can_have_codes && self.codes.len() == self.shards.len());
        if !coded || !self.codes.iter().enumerate().all(named) {
            return Some(format!(
                "it lists {} files of codes for {} shards of {}",
                self.codes.len(),
                self.shards.len(),
                self.spec.content
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

/// Identifies the content of stores: their models, and the checksums of their shards.
pub(crate) fn fingerprint(manifests: &[Manifest]) -> Checksum {
    let mut hasher = ChecksumHasher::default();
    for Manifest { spec, shards, .. } in manifests {
        hasher.update(format!("{} {}\n", spec.model.fingerprint, shards.len()).as_bytes());
        for shard in shards {
            hasher.update(format!("{} {}\n", shard.rows, shard.checksum).as_bytes());
        }
    }
    hasher.finish()
}

/// The file name of shard `index`.
pub(crate) fn shard_file_name(index: usize) -> String {
    format!("shard-{index:05}.safetensors")
}
