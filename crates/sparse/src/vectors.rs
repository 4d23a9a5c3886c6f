//! The terms of a document.

use toller_ir::DocOrd;

use crate::SparseError;
use crate::index::{SparseIndex, VECTORS};
use crate::postings::read_varint;
use crate::score::TermStatistics;

/// Documents between two whose places are written.
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
    /// When the index was built without vectors, or is damaged, which only one that was opened without verification can be.
    ///
    /// # Panics
    /// If `doc` is not below [`SparseIndex::doc_count`].
    pub fn doc_vector(&self, doc: DocOrd) -> Result<Vec<DocTerm>, SparseError> {
        assert!(doc.index() < self.doc_count(), "document {} of {}", doc.0, self.doc_count());
        let file = self.vectors.as_deref();
        let file = file.ok_or_else(|| SparseError::NoVectors { path: self.path().to_owned() })?;
        let damaged = || self.damaged(VECTORS, "a vector cannot be read");
        let places = places(file, self.doc_count(), doc.index()).ok_or_else(damaged)?;
        places
            .into_iter()
            .map(|(place, tf)| {
                let term = self.dictionary().as_fst().get_key(place).ok_or_else(damaged)?;
                let term = String::from_utf8(term).map_err(|_| damaged())?;
                Ok(DocTerm { term, tf, statistics: *self.term_at(place)?.statistics() })
            })
            .collect()
    }
}

/// The places of the records of a document's terms, and the frequencies.
fn places(file: &[u8], docs: usize, doc: usize) -> Option<Vec<(u64, u32)>> {
    let (vectors, starts) = file.split_at_checked(file.len().checked_sub(8 * docs.div_ceil(STRIDE))?)?;
    let (starts, _) = starts.as_chunks::<8>();
    let start = u64::from_le_bytes(*starts.get(doc / STRIDE)?);
    let mut rest = vectors.get(usize::try_from(start).ok()?..)?;
    for _ in 0..doc % STRIDE {
        for _ in 0..read_varint(&mut rest)?.saturating_mul(2) {
            read_varint(&mut rest)?;
        }
    }
    let mut terms = Vec::new();
    let mut place = 0_u64;
    for _ in 0..read_varint(&mut rest)? {
        place = place.checked_add(read_varint(&mut rest)?)?;
        let tf = read_varint(&mut rest)?.checked_add(1)?;
        terms.push((place, u32::try_from(tf).ok()?));
    }
    Some(terms)
}
