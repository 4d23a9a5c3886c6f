//! What can be wrong with the choice of an analyzer.

use toller_ir::{Explain, Remedy};

/// An analyzer that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// No analyzer has this name.
    #[error("there is no analyzer named {name:?}")]
    UnknownName {
        /// The name asked for.
        name: String,
    },
}

impl Explain for AnalysisError {
    fn remedy(&self) -> Option<Remedy> {
        let Self::UnknownName { .. } = self;
        Some(format!("analyzers are: {}", super::Analyzer::names().join(", ")).into())
    }
}
