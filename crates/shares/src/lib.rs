//! A job that is divided among processes: which share is this process's ([`assigned`]), what the share of a
//! search writes ([`PartialRunWriter`]), and how the partial runs of all shares become one machine's run
//! ([`merge()`]).
//!
//! The processes do not talk to each other. Each knows its share, and shares of any order, number of tries
//! and machine leave the same bytes.

mod assignment;
mod error;
mod merge;
mod partial;
mod scheduler;

pub use assignment::{Assignment, AssignmentError, assigned};
pub use error::{MergeError, PartialRunError};
pub use merge::{Merged, merge};
pub use partial::{Header, PartialRunReader, PartialRunWriter, Record, is_partial_run};
