//! The terms of an index in the order of their bytes, and where the list of each is.
//!
//! ```text
//! terms.bin  := block *, codes, size *, bytes of all blocks (u64)
//! codes      := those of shares, of letters and of kinds, see `PrefixCode`
//! size       := bytes of a block, bytes of its terms' records     (varint) for each block
//! block      := entry * 16 (the last may have fewer), zeros up to a byte
//! entry      := share, letter * up to END, kind, detail           each of the first three in its code
//! share      := the first bytes that the term before has, too, up to 255; 0 at the front of a block
//! detail     := kind 0: document (w bits)                         a single posting of frequency 1; w: the bits of the last document
//!             | kind 1: document (w bits), gamma(frequency - 2)   a single posting
//!             | kind 2 + b: the b low bits of n                   a record of n bytes, n has b + 1 bits; records follow each other in this order
//! ```
//!
//! Letters are the bytes of UTF-8, in which END does not occur. The first eight bytes of each block's first term are made when the index is
//! opened, so that a search looks into one block, and a few more where terms share eight bytes.

mod entries;
mod find;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use entries::Entries;
pub(crate) use read::Dictionary;
pub(crate) use write::{DictionaryWriter, NewEntry};

use crate::postings::Posting;

/// Terms of a block.
const BLOCK_TERMS: u64 = 16;

/// Behind the letters of a term.
const END: u8 = 0xff;

/// The kinds of terms with a single posting.
const ONCE: u8 = 0;
const ONE: u8 = 1;

/// The first kind of terms with a record.
const RECORD: u8 = 2;

/// The most low bits of the length of a record.
const MOST_RECORD_BITS: u32 = 48;

/// Where the postings of a term are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Here: there is only one.
    One(Posting),
    /// In a record, the bytes from `start` up to `end` of all records.
    Record {
        /// Its first byte.
        start: u64,
        /// The first byte behind it.
        end: u64,
    },
}

/// The dictionary cannot be read.
#[derive(Debug)]
pub(crate) struct Damaged;

/// The bits of the ordinals of `docs` documents.
fn doc_bits(docs: u32) -> u32 {
    docs.saturating_sub(1).checked_ilog2().map_or(0, |bits| bits + 1)
}

/// The first eight bytes of a term, zeros behind a shorter one: terms are in the order of their keys.
fn key(term: &[u8]) -> u64 {
    let mut key = [0; 8];
    let length = term.len().min(8);
    key[..length].copy_from_slice(&term[..length]);
    u64::from_be_bytes(key)
}
