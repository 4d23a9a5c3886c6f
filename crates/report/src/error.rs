//! What can go wrong with a report.

use toller_eval::{CompareError, EvalError};
use toller_ir::{Explain, Remedy};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no measure to report.
    #[error("a report needs a measure")]
    NoMeasure,
    /// The first measure is not a mean over queries, which the figures need.
    #[error("{measure} is not a mean over queries, and figures about queries show the first measure")]
    NoMean {
        /// The measure.
        measure: String,
    },
    /// There are too few queries for statistics.
    #[error("{queries} judged query is too few for a comparison")]
    TooFewQueries {
        /// How many there are.
        queries: usize,
    },
    /// A run cannot be evaluated.
    #[error("cannot evaluate {run}: {source}")]
    Evaluate {
        /// The run's name.
        run: String,
        /// Why not.
        source: EvalError,
    },
    /// Two runs cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The data cannot be written.
    #[error("cannot write the data: {0}")]
    Data(String),
}

impl ReportError {
    /// What makes an evaluation's error one with the run's name.
    pub(crate) fn of_run(name: &str) -> impl Fn(EvalError) -> Self {
        move |source| Self::Evaluate { run: name.to_owned(), source }
    }
}

impl Explain for ReportError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::NoMeasure => Some("name a measure, for example nDCG@10".into()),
            Self::NoMean { .. } => Some("name another measure first, for example nDCG@10".into()),
            Self::TooFewQueries { .. } => Some("give judgments of at least two queries".into()),
            Self::Evaluate { source, .. } => source.remedy(),
            Self::Compare(error) => error.remedy(),
            Self::Data(_) => None,
        }
    }
}

impl From<csv::Error> for ReportError {
    fn from(error: csv::Error) -> Self {
        Self::Data(error.to_string())
    }
}

impl From<serde_json::Error> for ReportError {
    fn from(error: serde_json::Error) -> Self {
        Self::Data(error.to_string())
    }
}
