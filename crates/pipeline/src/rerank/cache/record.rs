//! One score, with what decides it.

use toller_files::SortEntry;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// A hash of all that decides the score of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PairKey(u128);

/// A score and its pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) key: PairKey,
    pub(super) score: f32,
}

/// The bytes of a record.
pub(super) const RECORD_BYTES: usize = size_of::<SortEntry>();

impl PairKey {
    /// The key of a passage for a query, scored as `scorer` says.
    pub(crate) fn of(scorer: &str, query: &str, passage: &str) -> Self {
        let hashes = [scorer, query, passage].map(|part| xxh3_128(part.as_bytes()).to_le_bytes());
        Self(xxh3_128(hashes.as_flattened()))
    }

    /// The words by which records are sorted.
    pub(super) fn words(self) -> [u64; 2] {
        [(self.0 >> 64) as u64, self.0 as u64]
    }
}

impl Record {
    /// The record of an entry, if its checksum is right.
    pub(super) fn of_entry([high, low, last]: SortEntry) -> Option<Self> {
        let key = PairKey(u128::from(high) << 64 | u128::from(low));
        let record = Self { key, score: f32::from_bits(last as u32) };
        (record.checksum() == (last >> 32) as u32).then_some(record)
    }

    pub(super) fn entry(self) -> SortEntry {
        let [high, low] = self.key.words();
        [high, low, u64::from(self.checksum()) << 32 | u64::from(self.score.to_bits())]
    }

    /// The record as it is written.
    pub(super) fn bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.entry()) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    fn checksum(self) -> u32 {
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(&self.key.0.to_le_bytes());
        bytes[16..].copy_from_slice(&self.score.to_bits().to_le_bytes());
        xxh3_64(&bytes) as u32
    }
}
