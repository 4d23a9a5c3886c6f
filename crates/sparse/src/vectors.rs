//! The terms of a document.

use toller_ir::DocOrd;

use crate::SparseError;
use crate::coding::packed::Table;
use crate::coding::read_varint;
use crate::dictionary::{Damaged, Entries};
use crate::index::{SparseIndex, VECTORS};
use crate::score::TermStatistics;

/// The place of every document with a number divisible by this is written.
pub(crate) const STRIDE: usize = 16;

/// A term of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocTerm {
    /// The term.
    pub term: String,
    /// How often it is in the document.
    pub tf: u32,
    /// How often it is in the collection.
    pub statistics: TermStatistics,
}

impl SparseIndex {
    /// Whether the index has the terms of each document.
    #[must_use]
    pub fn has_doc_vectors(&self) -> bool {
        self.vectors.is_some()
    }

    /// The distinct terms of a document, in the order of their bytes.
    ///
    /// # Errors
    /// When the index was built without vectors, or is damaged and was opened without verification.
    ///
    /// # Panics
    /// If `doc` is not below [`SparseIndex::doc_count`].
    pub fn doc_vector(&self, doc: DocOrd) -> Result<Vec<DocTerm>, SparseError> {
        assert!(doc.index() < self.doc_count(), "document {} of {}", doc.0, self.doc_count());
        let file = self.vectors.as_deref();
        let file = file.ok_or_else(|| SparseError::NoVectors { path: self.path().to_owned() })?;
        let damaged = || self.damaged(VECTORS, "a vector cannot be read");
        let numbers =
            numbers(file, self.doc_count(), self.statistics().terms, doc.index()).ok_or_else(damaged)?;
        numbers
            .into_iter()
            .map(|(number, tf)| {
                let unreadable = |Damaged| self.damaged_dictionary();
                let mut entries = Entries::at(self.dictionary(), number).map_err(unreadable)?;
                let entry = entries.advance().map_err(unreadable)?.ok_or_else(damaged)?;
                let term = str::from_utf8(entries.term()).map_err(|_| damaged())?.to_owned();
                Ok(DocTerm { term, tf, statistics: *self.term_of(entry)?.statistics() })
            })
            .collect()
    }
}

/// The numbers of a document's terms, and their frequencies.
fn numbers(file: &[u8], docs: usize, terms: u64, doc: usize) -> Option<Vec<(u64, u32)>> {
    let (vectors, places) = Table::split(file, docs.div_ceil(STRIDE))?;
    let mut rest = vectors.get(usize::try_from(places.get(doc / STRIDE)).ok()?..)?;
    for _ in 0..doc % STRIDE {
        for _ in 0..read_varint(&mut rest)?.saturating_mul(2) {
            read_varint(&mut rest)?;
        }
    }
    let (mut numbers, mut number) = (Vec::new(), 0_u64);
    for _ in 0..read_varint(&mut rest)? {
        let more = read_varint(&mut rest)?;
        number = number.checked_add(more)?;
        // Numbers ascend, so there are no more of them than terms.
        if number >= terms || more == 0 && !numbers.is_empty() {
            return None;
        }
        let tf = read_varint(&mut rest)?.checked_add(1)?;
        numbers.push((number, u32::try_from(tf).ok()?));
    }
    Some(numbers)
}
