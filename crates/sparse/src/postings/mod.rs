//! The posting list of a term: which documents have it, how often, and the most it can add to a score.
//!
//! ```text
//! record := gamma(df - 2), gamma(cf - df), [gamma(max_tf - 2)]
//!           df < 128:  tail                                           see `tail`
//!           otherwise: gamma(bytes of the directory), zeros up to a byte,
//!                      entry of the directory * (df / 128)            see `directory`
//!                      block * (df / 128)
//!                      [gamma(cf - df of the tail)], tail             if df % 128 > 0
//!           zeros up to a byte
//! block  := documents, see `documents`; frequencies, see `frequencies`; zeros up to a byte
//! ```
//!
//! `df` documents have the term, `cf` times in all, `max_tf` times at most. What is in brackets is left out
//! where it follows from `cf` and `df`. A term with a single posting has no record; the dictionary has the
//! posting.
//!
//! The points of a block dominate its postings: for each posting there is a point with no lower frequency and
//! no longer length. All rankers grow with the frequency and fall with the length, so the best score of the
//! points bounds the scores of the block, whatever the ranker and its parameters.

mod block;
mod directory;
mod documents;
mod frequencies;
mod list_encoder;
mod record;
mod set_bits;
mod skyline;
mod tail;

pub(crate) use block::{Block, Packing};
pub(crate) use list_encoder::ListEncoder;
pub(crate) use record::{List, Record};
pub(crate) use skyline::SATURATED;
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
