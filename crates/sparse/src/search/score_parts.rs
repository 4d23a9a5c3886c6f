//! What each posting of a term adds to a score, its part: from a table if the term has many postings.

use std::ops::Range;

use super::WINDOW;
use super::sums::Sums;
use crate::index::SparseIndex;
use crate::length;
use crate::score::{Norm, TermScorer, TermStatistics};
use crate::{Lengths, Scoring};

/// The frequencies from 1 on that have a row in the table.
const ROWS: usize = 8;

/// A table pays if the term has at least this many postings for each part in the table.
const POSTINGS_A_PART: usize = 2;

/// The parts of a term by frequency, less 1, and by the code of the length.
pub(super) type Table = [[u32; 256]; ROWS];

/// The ranker's norm of each code of a length. It is the same for all terms of a query.
pub(super) struct Norms([Norm; 256]);

impl Norms {
    /// The norms of the ranker of `scorer`.
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

/// Computes the parts of a term.
pub(super) struct ScoreParts {
    pub(super) scorer: TermScorer,
    table: Option<Box<Table>>,
}

impl ScoreParts {
    /// For a term of an index in which all lengths have codes in `codes`. If it needs a table, `unused` may
    /// have one.
    pub(super) fn new(
        scorer: TermScorer,
        term: &TermStatistics,
        scoring: &Scoring,
        norms: &Norms,
        codes: Range<usize>,
        unused: &mut Vec<Box<Table>>,
    ) -> Self {
        let rows = ROWS.min(term.max_freq as usize);
        let pays = term.doc_freq as usize >= POSTINGS_A_PART * rows * codes.len();
        if scoring.lengths == Lengths::Exact || !pays {
            return Self { scorer, table: None };
        }
        let mut table = unused.pop().unwrap_or_else(|| Box::new([[0; 256]; ROWS]));
        for (row, tf) in table.iter_mut().zip(1..).take(rows) {
            for (part, norm) in row[codes.clone()].iter_mut().zip(&norms.0[codes.clone()]) {
                *part = scorer.part_by_norm(tf, *norm);
            }
        }
        Self { scorer, table: Some(table) }
    }

    /// Gives the table back.
    pub(super) fn recycle(self, unused: &mut Vec<Box<Table>>) {
        unused.extend(self.table);
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

    /// Adds the parts of postings of the window. `once`: all frequencies are 1.
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
