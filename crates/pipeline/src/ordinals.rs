//! Ordinals by identifier.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use toller_files::{ExternalSort, FileError, SortedEntries, hash_of_id};
use toller_ir::{DocOrd, Searcher};

use crate::spilled::{SpillWriter, Spilled};

/// The identifiers of a searcher's documents, in their order.
pub(crate) fn documents(searcher: &dyn Searcher) -> impl Iterator<Item = Cow<'_, str>> {
    (0..searcher.doc_count() as u32).map(|doc| searcher.doc_id(DocOrd(doc)))
}

/// The ordinals of those of the `named` documents that a collection has.
pub fn ordinals_of<'a>(collection: &dyn Searcher, named: &HashSet<&'a str>) -> HashMap<&'a str, DocOrd> {
    ordinals_among(documents(collection), named)
}

/// The ordinals of those of the `named` documents that are among `ids`.
pub(crate) fn ordinals_among<'a>(
    ids: impl Iterator<Item: AsRef<str>>,
    named: &HashSet<&'a str>,
) -> HashMap<&'a str, DocOrd> {
    let ordinal = |(doc, id): (u32, _)| Some((*named.get(AsRef::<str>::as_ref(&id))?, DocOrd(doc)));
    (0..).zip(ids).filter_map(ordinal).collect()
}

/// The ordinals of a searcher's documents by their identifiers, for many look-ups: sorted hashes. Those of
/// more documents than a million are in a mapped temporary file without a name. 60 million documents take
/// 1.4 GB of disk, and no memory that the system could not use otherwise.
#[derive(Debug)]
pub struct Ordinals(Spilled);

impl Ordinals {
    /// Reads every identifier of `searcher`.
    ///
    /// # Errors
    /// A temporary file that cannot be written or mapped.
    pub fn of(searcher: &dyn Searcher) -> Result<Self, FileError> {
        Self::of_ids(documents(searcher))
    }

    /// The places of identifiers in their order.
    ///
    /// # Errors
    /// As those of [`Ordinals::of`].
    pub(crate) fn of_ids(ids: impl Iterator<Item: AsRef<str>>) -> Result<Self, FileError> {
        Self::write(ids, SpillWriter::default())
    }

    fn write(ids: impl Iterator<Item: AsRef<str>>, mut to: SpillWriter) -> Result<Self, FileError> {
        let mut sort = ExternalSort::default();
        for (doc, id) in (0..).zip(ids) {
            let [high, low] = hash_of_id(id.as_ref());
            sort.push([high, low, doc])?;
        }
        sort.finish(|entry| to.push(entry.map(u64::to_le_bytes).as_flattened()))?;
        Ok(Self(to.finish()?))
    }

    /// The ordinal of a document of the same `searcher`, if there is such a document.
    #[must_use]
    pub fn get(&self, searcher: &dyn Searcher, id: &str) -> Option<DocOrd> {
        self.find(id, |doc| searcher.doc_id(doc) == id)
    }

    /// The ordinal of an identifier, if there is one that `has_id` confirms.
    pub(crate) fn find(&self, id: &str, has_id: impl FnOnce(DocOrd) -> bool) -> Option<DocOrd> {
        let wanted = hash_of_id(id);
        let found = SortedEntries::new(&self.0).first_from(wanted)?;
        let doc = DocOrd(found[2] as u32);
        // Two identifiers with one hash are less likely than a broken disk; neither makes another document.
        (found[..2] == wanted && has_id(doc)).then_some(doc)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use toller_files::SortEntry;
    use toller_ir::{DocOrd, SearchError, SearchRequest, SearchResponse, Searcher};

    use super::{Ordinals, documents};
    use crate::spilled::SpillWriter;

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
            let to = SpillWriter::with_memory(in_memory * size_of::<SortEntry>());
            let ordinals = Ordinals::write(documents(&names), to).unwrap();
            for (ordinal, name) in (0..).zip(&names.0) {
                assert_eq!(ordinals.get(&names, name), Some(DocOrd(ordinal)));
            }
            assert_eq!(ordinals.get(&names, "none"), None);
        }
    }
}
