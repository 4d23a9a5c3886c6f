//! Why an analyzer cannot be chosen.

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
        let names: Vec<&str> = super::Analyzer::names().collect();
        Some(format!("analyzers are: {}", names.join(", ")).into())
    }
}
