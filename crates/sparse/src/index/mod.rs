//! An opened index.

mod files;
mod ids;
mod lengths;
mod manifest;
mod open;
mod term;

pub(crate) use files::{FORMER, IDS, LENGTHS, MANIFEST, POSTINGS, TERMS, VECTORS};
pub(crate) use lengths::encode_lengths;
pub use manifest::{AnalyzerInfo, FORMAT_VERSION, FileEntry, Manifest, Source};
pub use open::SparseIndex;
pub use term::Term;
