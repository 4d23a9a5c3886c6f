//! The parts of postings: from a table where a term has many.

use std::ops::Range;

use super::WINDOW;
use super::sums::Sums;
use crate::index::SparseIndex;
use crate::length;
use crate::score::{Norm, TermScorer, TermStatistics};
use crate::{Lengths, Scoring};

/// Frequencies that a table has rows for.
const ROWS: usize = 8;

/// A table pays when the term has this many times more postings than the table has parts.
const POSTINGS_A_PART: usize = 2;

/// The parts of a term by frequency less one, and code of the length.
pub(super) type Table = [[u32; 256]; ROWS];

/// What a ranker makes of each code of a length, for a whole query.
pub(super) struct Norms([Norm; 256]);

impl Norms {
    /// Of the ranker of `scorer`, which is that of all terms.
    pub(super) fn of(scorer: &TermScorer) -> Self {
        Self(std::array::from_fn(|code| scorer.norm(length::decoded(code as u8))))
    }

    #[inline]
    pub(super) fn of_code(&self, code: u8) -> Norm {
        self.0[usize::from(code)]
    }
}

/// The documents of a window.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) index: &'a SparseIndex,
    pub(super) lengths: Lengths,
    pub(super) norms: &'a Norms,
    /// The first ordinal, a multiple of [`WINDOW`].
    pub(super) first: u32,
    /// The codes of the lengths.
    pub(super) codes: &'a [u8; WINDOW],
}

/// How the parts of a term are found.
pub(super) struct Parts {
    pub(super) scorer: TermScorer,
    table: Option<Box<Table>>,
}

impl Parts {
    /// Of a term in an index whose codes are `codes`. Takes a table from `spare`, if it needs one.
    pub(super) fn new(
        scorer: TermScorer,
        term: &TermStatistics,
        scoring: &Scoring,
        norms: &Norms,
        codes: Range<usize>,
        spare: &mut Vec<Box<Table>>,
    ) -> Self {
        let rows = ROWS.min(term.max_freq as usize);
        let pays = term.doc_freq as usize >= POSTINGS_A_PART * rows * codes.len();
        if scoring.lengths == Lengths::Exact || !pays {
            return Self { scorer, table: None };
        }
        let mut table = spare.pop().unwrap_or_else(|| Box::new([[0; 256]; ROWS]));
        for (row, tf) in table.iter_mut().zip(1..).take(rows) {
            for (part, norm) in row[codes.clone()].iter_mut().zip(&norms.0[codes.clone()]) {
                *part = scorer.part_by_norm(tf, *norm);
            }
        }
        Self { scorer, table: Some(table) }
    }

    /// Gives the table back.
    pub(super) fn recycle(self, spare: &mut Vec<Box<Table>>) {
        spare.extend(self.table);
    }

    /// The part of a posting in the window.
    #[inline]
    pub(super) fn of(&self, window: &Window<'_>, local: usize, tf: u32) -> u32 {
        if window.lengths == Lengths::Exact {
            return self.scorer.part(tf, window.index.exact_length(window.first as usize + local));
        }
        let code = window.codes[local % WINDOW];
        match &self.table {
            Some(table) if tf as usize <= ROWS => {
                table[(tf as usize).wrapping_sub(1) % ROWS][usize::from(code)]
            }
            _ => self.scorer.part_by_norm(tf, window.norms.of_code(code)),
        }
    }

    /// Adds the parts of postings in the window. `once`: all frequencies are one.
    #[inline]
    pub(super) fn add(&self, window: &Window<'_>, docs: &[u32], tfs: &[u32], once: bool, sums: &mut Sums) {
        let local = |doc: u32| doc.wrapping_sub(window.first) as usize % WINDOW;
        let sums = sums.touch(window.first, docs);
        match &self.table {
            Some(table) if once && window.lengths == Lengths::Encoded => {
                let row = &table[0];
                for &doc in docs {
                    let local = local(doc);
                    sums[local] = sums[local].wrapping_add(row[usize::from(window.codes[local])]);
                }
            }
            Some(table) if window.lengths == Lengths::Encoded => {
                for (&doc, &tf) in docs.iter().zip(tfs) {
                    let local = local(doc);
                    let row = (tf as usize).wrapping_sub(1);
                    let part = match table.get(row) {
                        Some(row) => row[usize::from(window.codes[local])],
                        None => self.of(window, local, tf),
                    };
                    sums[local] = sums[local].wrapping_add(part);
                }
            }
            None if window.lengths == Lengths::Encoded => {
                for (docs, tfs) in docs.chunks(16).zip(tfs.chunks(16)) {
                    let (mut norms, mut padded) = ([Norm::default(); 16], [0; 16]);
                    padded[..tfs.len()].copy_from_slice(tfs);
                    for (norm, &doc) in norms.iter_mut().zip(docs) {
                        *norm = window.norms.of_code(window.codes[local(doc)]);
                    }
                    for (&doc, part) in docs.iter().zip(self.scorer.parts_by_norm(&padded, &norms)) {
                        let local = local(doc);
                        sums[local] = sums[local].wrapping_add(part);
                    }
                }
            }
            _ => {
                for (&doc, &tf) in docs.iter().zip(tfs) {
                    let local = local(doc);
                    sums[local] = sums[local].wrapping_add(self.of(window, local, tf));
                }
            }
        }
    }
}
