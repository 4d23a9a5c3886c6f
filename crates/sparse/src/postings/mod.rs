//! The list of a term: which documents have it, how often, and what it can add to a score at most.
//!
//! ```text
//! record     := df, cf - df                                    (varint)
//!               df = 1: document                               (varint; its frequency is cf)
//!               else:   max_tf - 1                             (varint)
//!                       entry * (df / 128)                     the directory of the full blocks
//!                       block * (df / 128)
//!                       tail                                   if df % 128 > 0
//! entry      := last document (u32), bits of a gap (u8), bits of a frequency (u8), 4 * point
//! point      := frequency (u8, 255: as large as max_tf), code of a length (u8)
//! block      := 128 gaps - 1, 128 frequencies - 1              (BitPacker4x)
//! tail       := bits of a gap (u8), bits of a frequency (u8), gaps - 1, frequencies - 1 (bit by bit, each padded to a byte)
//! ```
//!
//! The gap before the first document is counted from -1. A block's points dominate its postings: for each of these there is a
//! point with no lower frequency and no longer length. All rankers grow with the frequency and fall with the length, so
//! the largest score of the points bounds those of the block, whatever the ranker and its parameters.

mod bits;
mod block;
mod encode;
mod record;
mod skyline;
mod varint;

pub(crate) use block::Block;
pub(crate) use encode::ListEncoder;
pub(crate) use record::{Entry, List, Record};
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
