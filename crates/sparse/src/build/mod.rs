//! Building an index: texts in, an index out.
//!
//! A thread reads and hands on chunks of documents; threads analyze and invert each chunk to a sorted run; the caller's
//! thread keeps the runs, in memory or, beyond what is allowed, in a temporary file; and then merges them, term by term. A list
//! depends on the collection alone and not on how it was cut, so any number of threads and any memory make the same
//! bytes.

mod chunk;
mod directory;
mod invert;
mod job;
mod merge;
mod output;
mod run;
mod vectors;

pub use job::{BuildJob, BuildProgress, BuildReport, build};
