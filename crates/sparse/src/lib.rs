//! Sparse retrieval: texts become terms ([`Analyzer`]), terms an inverted index, and the index rankings.

mod analysis;

pub use analysis::{AnalysisError, Analyzer, Tokenize};
