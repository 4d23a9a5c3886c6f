//! Ids that occur twice among stores opened together.

use toller_files::{ExternalSort, hash_of_id};
use toller_ir::DocOrd;

use crate::{Store, StoreError};

impl Store {
    /// Checks that no id occurs twice.
    ///
    /// Exact, in bounded memory: the hashes of all ids are sorted on disk, and ids are compared where hashes
    /// are equal.
    ///
    /// # Errors
    /// [`StoreError::DuplicateId`]; [`StoreError::File`] if a temporary file cannot be written.
    pub fn check_unique_ids(&self) -> Result<(), StoreError> {
        let mut sort = ExternalSort::default();
        for shard in self.shards() {
            for (doc, row) in (u64::from(shard.first().0)..).zip(0..shard.rows()) {
                let [high, low] = hash_of_id(shard.id(row));
                sort.push([high, low, doc])?;
            }
        }
        // The rows of one hash: nearly always one, since a second one of the same id is the end.
        let (mut hash, mut rows) = ([0; 2], Vec::new());
        sort.finish(|[high, low, doc]| {
            let doc = DocOrd(doc as u32);
            if hash != [high, low] {
                hash = [high, low];
                rows.clear();
            }
            if let Some(first) = rows.iter().find(|row| self.id(**row) == self.id(doc)) {
                let path = |doc: DocOrd| self.locate(doc).0.path().to_owned();
                let id = self.id(doc).to_owned();
                return Err(StoreError::DuplicateId { id, first: path(*first), second: path(doc) });
            }
            rows.push(doc);
            Ok(())
        })
    }
}
