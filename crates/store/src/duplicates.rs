//! Ids that occur twice among stores opened together.

use rayon::prelude::*;
use toller_ir::DocOrd;
use xxhash_rust::xxh3::xxh3_64;

use crate::{Store, StoreError};

/// Ids compared in one pass over all ids: bounds the memory to a few hundred megabytes.
const IDS_PER_PASS: usize = 1 << 23;

impl Store {
    /// Checks that no id occurs twice.
    ///
    /// Exact, in bounded memory: each pass over the ids takes those whose hash falls into its share, and
    /// sorts them by hash. Ids are compared where hashes are equal.
    ///
    /// # Errors
    /// [`StoreError::DuplicateId`].
    pub fn check_unique_ids(&self) -> Result<(), StoreError> {
        let passes = self.count().div_ceil(IDS_PER_PASS) as u64;
        (0..passes).try_for_each(|pass| self.check_unique_ids_of(pass, passes))
    }

    fn check_unique_ids_of(&self, pass: u64, passes: u64) -> Result<(), StoreError> {
        let mut hashes: Vec<(u64, DocOrd)> = self
            .shards()
            .par_iter()
            .flat_map_iter(|shard| {
                let first = shard.first().0;
                (0..shard.rows())
                    .map(move |row| (xxh3_64(shard.id(row).as_bytes()), DocOrd(first + row as u32)))
            })
            .filter(|(hash, _)| hash % passes == pass)
            .collect();
        hashes.par_sort_unstable();
        for same_hash in hashes.chunk_by(|a, b| a.0 == b.0).filter(|same_hash| same_hash.len() > 1) {
            let mut docs: Vec<DocOrd> = same_hash.iter().map(|&(_, doc)| doc).collect();
            docs.sort_by_key(|&doc| self.id(doc));
            if let Some((first, second)) = docs
                .iter()
                .zip(docs.iter().skip(1))
                .find(|(first, second)| self.id(**first) == self.id(**second))
            {
                let path = |doc: &DocOrd| self.locate(*doc).0.path().to_owned();
                let id = self.id(*first).to_owned();
                return Err(StoreError::DuplicateId { id, first: path(first), second: path(second) });
            }
        }
        Ok(())
    }
}
