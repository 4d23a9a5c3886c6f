//! Building an index: texts in, an index out.
//!
//! One thread reads documents and cuts them into chunks. Other threads analyze each chunk and invert it into
//! a sorted run. The caller's thread keeps the runs in a temporary file, and then merges them term by term. A
//! posting list depends only on the collection and not on its chunks, so any number of threads and any memory
//! budget make the same bytes.

mod chunks;
mod directory;
mod invert;
mod job;
mod merge;
mod sorted_run;
mod vectors;

pub use job::{BuildJob, BuildProgress, BuildReport, build, check_build};
