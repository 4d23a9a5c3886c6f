//! Ordinals by identifier, for many look-ups.

use std::fs::File;
use std::io::{BufWriter, Write};

use memmap2::Mmap;
use toller_files::{ExternalSort, FileError, SortedEntries, map};
use toller_ir::{DocOrd, Searcher};
use xxhash_rust::xxh3::xxh3_128;

/// The ordinals of a searcher's documents by their identifiers: sorted hashes in a mapped temporary file
/// without a name. 60 million documents take 1.4 GB of disk, and no memory that the system could not use
/// otherwise.
#[derive(Debug)]
pub struct Ordinals(Mmap);

impl Ordinals {
    /// Reads every identifier of `searcher`.
    ///
    /// # Errors
    /// A temporary file that cannot be written or mapped.
    pub fn of(searcher: &dyn Searcher) -> Result<Self, FileError> {
        let mut sort = ExternalSort::default();
        for doc in 0..searcher.doc_count() as u32 {
            let [high, low] = hash(&searcher.doc_id(DocOrd(doc)));
            sort.push([high, low, u64::from(doc)])?;
        }
        let failed = |action| move |error| FileError::new(action, std::env::temp_dir(), error);
        let mut file = BufWriter::new(tempfile::tempfile().map_err(failed("create a file in"))?);
        sort.finish(|entry| {
            let bytes = entry.map(u64::to_le_bytes);
            file.write_all(bytes.as_flattened()).map_err(failed("write a file in"))
        })?;
        let file: File = file.into_inner().map_err(|error| failed("write a file in")(error.into_error()))?;
        Ok(Self(map(&file, &std::env::temp_dir())?))
    }

    /// The ordinal of a document of the same `searcher`, if there is such a document.
    #[must_use]
    pub fn get(&self, searcher: &dyn Searcher, id: &str) -> Option<DocOrd> {
        let wanted = hash(id);
        let found = SortedEntries::new(&self.0).first_from(wanted)?;
        let doc = DocOrd(found[2] as u32);
        // Two identifiers with one hash are less likely than a broken disk; neither makes another document.
        (found[..2] == wanted && searcher.doc_id(doc) == id).then_some(doc)
    }
}

fn hash(id: &str) -> [u64; 2] {
    let hash = xxh3_128(id.as_bytes());
    [(hash >> 64) as u64, hash as u64]
}
