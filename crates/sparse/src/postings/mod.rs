//! The list of a term: which documents have it, how often, and what it can add to a score at most.
//!
//! ```text
//! record     := gamma(df - 2), gamma(cf - df), [gamma(max_tf - 2)]         codes in bits, see `coding`
//!               df < 128:  tail                                          see `tail`
//!               else:      gamma(bytes of the directory), zeros up to a byte
//!                          entry * (df / 128)                            the directory of the full blocks, see `entry`
//!                          block * (df / 128)
//!                          [gamma(cf - df of the tail)], tail             if df % 128 > 0
//!               zeros up to a byte
//! block      := documents, see `documents`; frequencies, see `frequencies`
//! ```
//!
//! A term with one posting has no record: the dictionary says what it is. What stands in brackets is left out where `cf` and `df` say it. A block's points
//! dominate its postings: for each of these there is a point with no lower frequency and no longer length. All rankers grow with the
//! frequency and fall with the length, so the largest score of the points bounds those of the block, whatever the ranker and its
//! parameters.

mod block;
mod documents;
mod encode;
mod entry;
mod frequencies;
mod ones;
mod record;
mod skyline;
mod tail;

pub(crate) use block::{Block, Packing};
pub(crate) use encode::ListEncoder;
pub(crate) use record::{List, Record};
pub(crate) use skyline::{Point, SATURATED};
pub(crate) use tail::Tail;

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
