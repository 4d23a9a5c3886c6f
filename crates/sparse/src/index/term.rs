//! A term of an index.

use super::SparseIndex;
use crate::SparseError;
use crate::postings::{Posting, Record};
use crate::score::TermStatistics;

/// A term that documents have.
#[derive(Clone, Copy, Debug)]
pub struct Term<'a> {
    pub(super) index: &'a SparseIndex,
    pub(super) record: Record<'a>,
}

impl<'a> Term<'a> {
    /// The number of its documents and occurrences.
    #[must_use]
    pub fn statistics(&self) -> &TermStatistics {
        &self.record.statistics
    }

    /// Calls `each` with every document that has the term, in order.
    ///
    /// # Errors
    /// When the index is damaged and was opened without verification. `each` may have been called by then.
    pub fn for_each_posting(&self, mut each: impl FnMut(Posting)) -> Result<(), SparseError> {
        let docs = self.index.doc_count() as u32;
        let read = self.record.for_each_block(docs, |block| {
            block.docs().iter().zip(block.tfs()).for_each(|(&doc, &tf)| each(Posting { doc, tf }));
        });
        read.ok_or_else(|| self.index.damaged_postings())
    }

    pub(crate) fn record(&self) -> Record<'a> {
        self.record
    }
}
