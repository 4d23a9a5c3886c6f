//! The terms of an index in the order of their bytes, each with its postings or where they are.
//!
//! ```text
//! terms.bin := list of the terms, see `coding::strings`; the payload of a term is
//! payload   := [bytes of the records of all terms before (varint)], entry    [...] where a block begins
//! entry     := 2 * document (varint)                                     a single posting of frequency 1
//!            | 4 * document + 3 (varint), frequency - 2 (varint)         a single posting
//!            | 4 * n + 1 (varint)                                        a record of n bytes in postings.bin
//! ```
//!
//! Half of all terms have a single posting, which takes fewer bytes here than as a record.

mod encode;
mod entries;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use memmap2::Mmap;

use crate::coding::{BLOCK_STRINGS, Strings, read_string, read_varint};
use crate::postings::Posting;

pub(crate) use encode::{DictionaryEncoder, NewEntry};
pub(crate) use entries::Entries;

/// Where the postings of a term are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Here: there is only one.
    One(Posting),
    /// In a record: the bytes from `start` to `end` of postings.bin.
    Record {
        /// Its first byte.
        start: u64,
        /// The first byte after it.
        end: u64,
    },
}

/// The dictionary cannot be read.
#[derive(Debug)]
pub(crate) struct Damaged;

/// The terms of an index in a memory map.
#[derive(Debug)]
pub(crate) struct Dictionary {
    file: Mmap,
    terms: usize,
}

impl Dictionary {
    /// The dictionary of `terms` terms in `file`.
    pub(crate) fn new(file: Mmap, terms: u64) -> Result<Self, Damaged> {
        let terms = usize::try_from(terms).map_err(|_| Damaged)?;
        Strings::new(&file, terms).ok_or(Damaged)?;
        Ok(Self { file, terms })
    }

    fn strings(&self) -> Option<Strings<'_>> {
        Strings::new(&self.file, self.terms)
    }

    /// Where the postings of `term` are, if the dictionary has it.
    pub(crate) fn find(&self, term: &[u8]) -> Result<Option<Entry>, Damaged> {
        let strings = self.strings().ok_or(Damaged)?;
        let (mut block, mut end) = (0, strings.blocks());
        while block < end {
            let middle = block.midpoint(end);
            let first = strings.first(middle).ok_or(Damaged)?;
            if first.iter().le(term) { block = middle + 1 } else { end = middle }
        }
        let Some(block) = block.checked_sub(1) else { return Ok(None) };
        let count = (self.terms - block * BLOCK_STRINGS).min(BLOCK_STRINGS);
        strings.block(block).and_then(|bytes| find_in_block(bytes, count, term)).ok_or(Damaged)
    }
}

/// Looks for a term in a block of `count` terms without putting these together; `None` if it is damaged.
#[inline]
fn find_in_block(mut block: &[u8], count: usize, term: &[u8]) -> Option<Option<Entry>> {
    let mut records = 0;
    // The leading bytes that `term` has in common with the term before, which sorts before it.
    let mut common = 0;
    for place in 0..count {
        let (shared, rest) = read_string(&mut block)?;
        let entry = read_entry(&mut block, &mut records, place == 0)?;
        match shared.cmp(&common) {
            // It differs from the term before where that term still agrees with `term`: it sorts after
            // `term`.
            Ordering::Less => return Some(None),
            // It agrees with the term before where that one sorts before `term`.
            Ordering::Greater => {}
            Ordering::Equal => {
                let wanted = &term[common..];
                let same = rest.iter().zip(wanted).take_while(|(a, b)| a == b).count();
                match (rest.get(same), wanted.get(same)) {
                    (None, None) => return Some(Some(entry)),
                    (Some(found), Some(wanted)) if found > wanted => return Some(None),
                    (Some(_), None) => return Some(None),
                    _ => common += same,
                }
            }
        }
    }
    Some(None)
}

/// Takes the payload of a term off the front of `bytes`. The record of the next term begins at `records`.
#[inline]
fn read_entry(bytes: &mut &[u8], records: &mut u64, begins_block: bool) -> Option<Entry> {
    if begins_block {
        *records = read_varint(bytes)?;
    }
    let head = read_varint(bytes)?;
    if head & 3 == 1 {
        let start = *records;
        *records = start.checked_add(head >> 2)?;
        return Some(Entry::Record { start, end: *records });
    }
    let (doc, tf) =
        if head & 1 == 0 { (head >> 1, 1) } else { (head >> 2, read_varint(bytes)?.checked_add(2)?) };
    Some(Entry::One(Posting { doc: u32::try_from(doc).ok()?, tf: u32::try_from(tf).ok()? }))
}
