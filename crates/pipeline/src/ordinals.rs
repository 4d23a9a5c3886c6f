//! Ordinals by identifier, for many look-ups.

use std::fs::File;
use std::io::{BufWriter, Write};

use memmap2::Mmap;
use toller_files::{ExternalSort, FileError, SortEntry, SortedEntries, map};
use toller_ir::{DocOrd, Searcher};
use xxhash_rust::xxh3::xxh3_128;

/// Documents whose ordinals are in memory: 24 MB.
const IN_MEMORY: usize = 1_000_000;

/// The ordinals of a searcher's documents by their identifiers: sorted hashes. Those of more documents than a
/// million are in a mapped temporary file without a name. 60 million documents take 1.4 GB of disk, and no
/// memory that the system could not use otherwise.
#[derive(Debug)]
pub struct Ordinals(Entries);

#[derive(Debug)]
enum Entries {
    InMemory(Vec<u8>),
    Mapped(Mmap),
}

impl Ordinals {
    /// Reads every identifier of `searcher`.
    ///
    /// # Errors
    /// A temporary file that cannot be written or mapped.
    pub fn of(searcher: &dyn Searcher) -> Result<Self, FileError> {
        Self::with_memory(searcher, IN_MEMORY)
    }

    /// The same, in memory if there are at most this many documents.
    fn with_memory(searcher: &dyn Searcher, in_memory: usize) -> Result<Self, FileError> {
        let mut sort = ExternalSort::default();
        for doc in 0..searcher.doc_count() as u32 {
            let [high, low] = hash(&searcher.doc_id(DocOrd(doc)));
            sort.push([high, low, u64::from(doc)])?;
        }
        if searcher.doc_count() <= in_memory {
            let mut bytes = Vec::with_capacity(size_of::<SortEntry>() * searcher.doc_count());
            sort.finish(|entry| {
                bytes.extend_from_slice(entry.map(u64::to_le_bytes).as_flattened());
                Ok::<_, FileError>(())
            })?;
            return Ok(Self(Entries::InMemory(bytes)));
        }
        let failed = |action| move |error| FileError::new(action, std::env::temp_dir(), error);
        let mut file = BufWriter::new(tempfile::tempfile().map_err(failed("create a file in"))?);
        sort.finish(|entry| {
            let bytes = entry.map(u64::to_le_bytes);
            file.write_all(bytes.as_flattened()).map_err(failed("write a file in"))
        })?;
        let file: File = file.into_inner().map_err(|error| failed("write a file in")(error.into_error()))?;
        Ok(Self(Entries::Mapped(map(&file, &std::env::temp_dir())?)))
    }

    /// The ordinal of a document of the same `searcher`, if there is such a document.
    #[must_use]
    pub fn get(&self, searcher: &dyn Searcher, id: &str) -> Option<DocOrd> {
        let wanted = hash(id);
        let entries = match &self.0 {
            Entries::InMemory(bytes) => bytes.as_slice(),
            Entries::Mapped(map) => map,
        };
        let found = SortedEntries::new(entries).first_from(wanted)?;
        let doc = DocOrd(found[2] as u32);
        // Two identifiers with one hash are less likely than a broken disk; neither makes another document.
        (found[..2] == wanted && searcher.doc_id(doc) == id).then_some(doc)
    }
}

fn hash(id: &str) -> [u64; 2] {
    let hash = xxh3_128(id.as_bytes());
    [(hash >> 64) as u64, hash as u64]
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use toller_ir::{DocOrd, SearchError, SearchRequest, SearchResponse, Searcher};

    use super::Ordinals;

    /// Documents without a search.
    struct Names(Vec<String>);

    impl Searcher for Names {
        fn search(&self, _: &SearchRequest<'_>) -> Result<SearchResponse, SearchError> {
            Ok(SearchResponse::default())
        }

        fn doc_id(&self, doc: DocOrd) -> Cow<'_, str> {
            Cow::Borrowed(&self.0[doc.0 as usize])
        }

        fn doc_count(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn documents_are_found_in_memory_and_in_a_file() {
        let names = Names((0..500).map(|number| format!("d{number}")).collect());
        for in_memory in [500, 499] {
            let ordinals = Ordinals::with_memory(&names, in_memory).unwrap();
            for (ordinal, name) in (0..).zip(&names.0) {
                assert_eq!(ordinals.get(&names, name), Some(DocOrd(ordinal)));
            }
            assert_eq!(ordinals.get(&names, "none"), None);
        }
    }
}
