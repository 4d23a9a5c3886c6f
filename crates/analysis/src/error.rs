//! What can be wrong with the choice of an analyzer.

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

impl AnalysisError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownName { .. } => format!("analyzers are: {}", super::Analyzer::names().join(", ")),
        }
    }
}
