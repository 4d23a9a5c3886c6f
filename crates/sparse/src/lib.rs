//! Sparse retrieval: terms become an inverted index ([`build`]), and the index ([`SparseIndex`]) rankings.

mod build;
mod coding;
mod dictionary;
mod error;
mod explain;
mod fingerprint;
mod index;
pub mod length;
mod postings;
mod prepare;
mod query;
mod ranker;
mod score;
mod search;
mod vectors;

pub use build::{BuildJob, BuildProgress, BuildReport, build, check_build};
pub use error::SparseError;
pub use explain::{Explanation, TermScore};
pub use index::{AnalyzerInfo, FORMAT_VERSION, FileEntry, Manifest, Source, SparseIndex, Term};
pub use postings::Posting;
pub use query::SparseQuery;
pub use ranker::{Bm25Variant, Lengths, Ranker, Scoring};
pub use score::{PreparedTerms, Statistics, TermScorer, TermStatistics};
pub use search::Search;
pub use vectors::DocTerm;
