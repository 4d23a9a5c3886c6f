//! The list of a term: which documents have it, how often, and what it can add to a score at most.
//!
//! ```text
//! record     := 2 * (df - 1) + (cf > df), [cf - df - 1]      (varint)
//!               df = 1: document                               (varint; its frequency is cf)
//!               else:   [max_tf - 2]                           (varint)
//!                       bytes of the directory                 (varint) if df >= 128
//!                       entry * (df / 128)                     the directory of the full blocks, see `entry`
//!                       block * (df / 128)
//!                       tail                                   if df % 128 > 0
//! block      := documents, see `documents`; frequencies, see `frequencies`
//! tail       := l + 128 * (a frequency is above 1) (u8), [kind of the frequencies (u8)], documents, frequencies
//! ```
//!
//! What stands in brackets is left out where all frequencies are 1. A block's points dominate its postings: for each of these there is a
//! point with no lower frequency and no longer length. All rankers grow with the frequency and fall with the length, so
//! the largest score of the points bounds those of the block, whatever the ranker and its parameters.

pub(crate) mod bits;
mod block;
mod documents;
mod encode;
mod entry;
mod frequencies;
mod ones;
mod record;
mod skyline;
mod varint;

pub(crate) use block::{Block, Packing};
pub(crate) use encode::ListEncoder;
pub(crate) use record::{List, Record};
pub(crate) use skyline::{Point, SATURATED};
pub(crate) use varint::{read_varint, write_varint};

/// Postings of a full block.
pub(crate) const BLOCK: usize = 128;

/// A document that has a term, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The document's ordinal.
    pub doc: u32,
    /// How often, at least once.
    pub tf: u32,
}
