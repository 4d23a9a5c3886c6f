//! The documents of searchers that are fused, matched by their identifiers.

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;

use toller_files::{ExternalSort, hash_of_id};
use toller_ir::{DocOrd, DocSet, Searcher};

use super::error::FusionError;
use super::hybrid::Collections;
use crate::ordinals::documents;
use crate::spilled::{SpillWriter, Spilled};

/// A document of one of the searchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    list: usize,
    /// The ordinal there.
    doc: DocOrd,
}

impl Place {
    /// Numbers are ordered by searcher, then by ordinal.
    fn to_u64(self) -> u64 {
        (self.list as u64) << u32::BITS | u64::from(self.doc.0)
    }

    fn of_u64(number: u64) -> Self {
        Self { list: (number >> u32::BITS) as usize, doc: DocOrd(number as u32) }
    }

    pub(super) fn id(self, searchers: &[Arc<dyn Searcher>]) -> Cow<'_, str> {
        searchers[self.list].doc_id(self.doc)
    }
}

/// Ordinals that several searchers share: those of the first, then those of the documents that are missing
/// from the searchers before.
pub(super) struct SharedDocuments {
    /// The shared ordinals of each searcher's documents; `None` where they are its own.
    shared: Vec<Option<SharedOrdinals>>,
    first_count: usize,
    /// Where each document is that is missing from the first searcher: eight bytes.
    others: Spilled,
}

/// The shared ordinal of each document of one searcher: four bytes.
pub(super) struct SharedOrdinals(Spilled);

impl SharedOrdinals {
    pub(super) fn get(&self, own: DocOrd) -> DocOrd {
        DocOrd(u32::from_le_bytes(self.0.as_chunks().0[own.index()]))
    }

    fn iter(&self) -> impl Iterator<Item = DocOrd> {
        self.0.as_chunks().0.iter().map(|bytes| DocOrd(u32::from_le_bytes(*bytes)))
    }

    /// The own and the shared ordinals of those of the `wanted` documents that the searcher has.
    pub(super) fn among(&self, wanted: &DocSet) -> impl Iterator<Item = (DocOrd, DocOrd)> {
        (0..).map(DocOrd).zip(self.iter()).filter(|(_, shared)| wanted.contains(*shared))
    }
}

impl SharedDocuments {
    /// Matches the documents of `searchers`. Only hashes and ordinals are sorted, on disk if they are many.
    pub(super) fn of(searchers: &[Arc<dyn Searcher>], collections: Collections) -> Result<Self, FusionError> {
        let first_count = searchers.first().map_or(0, |first| first.doc_count());
        let mut shared: Vec<Option<SharedOrdinals>> = Vec::with_capacity(searchers.len());
        let (mut count, mut others) = (first_count, SpillWriter::default());
        for (list, owners) in owners(searchers)?.into_iter().enumerate() {
            let Some(owners) = owners else {
                shared.push(None);
                continue;
            };
            let missing = |document: Place, present| FusionError::CollectionsDiffer {
                list: list + 1,
                first_count,
                other_count: searchers[list].doc_count(),
                document: document.id(searchers).into_owned(),
                present,
            };
            let mut ordinals = SpillWriter::default();
            owners.finish(|[_, owner, _]| {
                let owner = Place::of_u64(owner);
                let ordinal = match shared.get(owner.list) {
                    Some(None) => owner.doc,
                    Some(Some(before)) => before.get(owner.doc),
                    None if collections == Collections::Same => return Err(missing(owner, "other")),
                    None => {
                        others.push(&owner.to_u64().to_le_bytes())?;
                        count += 1;
                        DocOrd((count - 1) as u32)
                    }
                };
                Ok(ordinals.push(&ordinal.0.to_le_bytes())?)
            })?;
            let ordinals = SharedOrdinals(ordinals.finish()?);
            if collections == Collections::Same {
                let present: DocSet = ordinals.iter().collect();
                let absent = |doc: &DocOrd| !present.contains(*doc);
                if let Some(doc) = (0..first_count as u32).map(DocOrd).find(absent) {
                    return Err(missing(Place { list: 0, doc }, "first"));
                }
            }
            shared.push(Some(ordinals));
        }
        Ok(Self { shared, first_count, others: others.finish()? })
    }

    /// The shared ordinals of a searcher's documents; `None` where they are its own.
    pub(super) fn of_list(&self, list: usize) -> Option<&SharedOrdinals> {
        self.shared[list].as_ref()
    }

    /// The document of a shared ordinal, in the first searcher that has it.
    pub(super) fn place(&self, doc: DocOrd) -> Option<Place> {
        match doc.index().checked_sub(self.first_count) {
            Some(other) => {
                self.others.as_chunks().0.get(other).map(|place| Place::of_u64(u64::from_le_bytes(*place)))
            }
            None => Some(Place { list: 0, doc }),
        }
    }

    /// The number of documents.
    pub(super) fn count(&self) -> usize {
        self.first_count + self.others.len() / size_of::<u64>()
    }
}

/// For each searcher whose documents are not those of the first in the same order: each document's ordinal,
/// and the first place that has its identifier. `None` for the others: usually all, and then nothing is
/// sorted.
fn owners(searchers: &[Arc<dyn Searcher>]) -> Result<Vec<Option<ExternalSort>>, FusionError> {
    let Some((first, rest)) = searchers.split_first() else { return Ok(Vec::new()) };
    let differs = rest.iter().map(|other| !is_same_order(&**first, &**other));
    let mut owners: Vec<Option<ExternalSort>> =
        iter::once(false).chain(differs).map(|differs| differs.then(ExternalSort::default)).collect();
    if owners.iter().all(Option::is_none) {
        return Ok(owners);
    }
    let mut by_hash = ExternalSort::default();
    for (list, searcher) in
        searchers.iter().enumerate().filter(|(list, _)| *list == 0 || owners[*list].is_some())
    {
        for (doc, id) in (0..).map(DocOrd).zip(documents(&**searcher)) {
            let [high, low] = hash_of_id(&id);
            by_hash.push([high, low, Place { list, doc }.to_u64()])?;
        }
    }
    // The identifiers of one hash, nearly always one: the first place that has it, and the last searcher.
    let (mut hash, mut found): ([u64; 2], Vec<(Place, usize)>) = ([0; 2], Vec::new());
    by_hash.finish(|[high, low, place]| {
        let place = Place::of_u64(place);
        if hash != [high, low] {
            hash = [high, low];
            found.clear();
        }
        let known = found.iter_mut().find(|(owner, _)| owner.id(searchers) == place.id(searchers));
        let owner = match known {
            // An identifier that comes twice would make one document of two.
            Some((_, last)) if *last == place.list => {
                let document = place.id(searchers).into_owned();
                return Err(FusionError::AmbiguousId { list: place.list + 1, document });
            }
            Some((owner, last)) => {
                *last = place.list;
                *owner
            }
            None => {
                found.push((place, place.list));
                place
            }
        };
        match &mut owners[place.list] {
            Some(owners) => Ok(owners.push([u64::from(place.doc.0), owner.to_u64(), 0])?),
            None => Ok(()),
        }
    })?;
    Ok(owners)
}

/// Whether both have the same documents in the same order.
fn is_same_order(first: &dyn Searcher, other: &dyn Searcher) -> bool {
    first.doc_count() == other.doc_count() && documents(first).eq(documents(other))
}

#[cfg(test)]
mod tests {
    use super::{DocOrd, Place};

    #[test]
    fn places_are_ordered_by_searcher_then_by_ordinal() {
        let places =
            [(0, 0), (0, u32::MAX), (1, 0), (7, 5)].map(|(list, doc)| Place { list, doc: DocOrd(doc) });
        assert!(places.map(Place::to_u64).is_sorted());
        assert_eq!(places.map(|place| Place::of_u64(place.to_u64())), places);
    }
}
