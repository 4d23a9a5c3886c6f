//! Ids that occur twice in a store, or among stores opened together.

use std::path::Path;

use toller_files::{ExternalSort, hash_of_id};
use toller_ir::DocOrd;

use crate::{ImpactStore, Store, StoreError};

impl Store {
    /// Checks that no id occurs twice.
    ///
    /// Exact, in bounded memory: the hashes of all ids are sorted on disk, and ids are compared where hashes
    /// are equal.
    ///
    /// # Errors
    /// [`StoreError::DuplicateId`]; [`StoreError::File`] if a temporary file cannot be written.
    pub fn check_unique_ids(&self) -> Result<(), StoreError> {
        let ids = self.shards().iter().flat_map(|shard| (0..shard.rows()).map(move |row| shard.id(row)));
        check(ids, |row| {
            let (shard, row) = self.locate(DocOrd(row as u32));
            (shard.id(row), shard.path())
        })
    }
}

impl ImpactStore {
    /// Checks that no id occurs twice, as [`Store::check_unique_ids`] does.
    ///
    /// # Errors
    /// Those of [`Store::check_unique_ids`].
    pub fn check_unique_ids(&self) -> Result<(), StoreError> {
        check(self.rows().map(|(id, _)| id), |row| {
            let (shard, row) = self.locate(row as usize);
            (shard.row(row).0, shard.path())
        })
    }
}

/// Checks that no id of `ids` occurs twice. `locate` gives the id of a row again, and its shard.
fn check<'a>(
    ids: impl Iterator<Item = &'a str>,
    locate: impl Fn(u64) -> (&'a str, &'a Path),
) -> Result<(), StoreError> {
    let mut sort = ExternalSort::default();
    for (row, id) in (0_u64..).zip(ids) {
        let [high, low] = hash_of_id(id);
        sort.push([high, low, row])?;
    }
    // The rows of one hash: nearly always one, since a second one of the same id is the end.
    let (mut hash, mut rows) = ([0; 2], Vec::new());
    sort.finish(|[high, low, row]| {
        if hash != [high, low] {
            hash = [high, low];
            rows.clear();
        }
        if let Some(first) = rows.iter().find(|first| locate(**first).0 == locate(row).0) {
            let ((_, first), (id, second)) = (locate(*first), locate(row));
            let (id, first, second) = (id.to_owned(), first.to_owned(), second.to_owned());
            return Err(StoreError::DuplicateId { id, first, second });
        }
        rows.push(row);
        Ok(())
    })
}
