//! Why parameters cannot be tuned.

use toller_eval::EvalError;
use toller_ir::{ErrorPlace, Explain, Remedy};
use toller_sparse::SparseError;

use crate::fusion::FusionError;

/// Why parameters cannot be tuned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The judgments or the measure.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The runs or the method.
    #[error(transparent)]
    Fusion(#[from] FusionError),
    /// The index or the parameters.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// Nothing that is searched for is judged.
    #[error("none of the {queries} queries is judged, for example {example:?}")]
    NoJudgedQuery {
        /// How many queries.
        queries: usize,
        /// One of them.
        example: String,
    },
    /// The index is of another collection.
    #[error("none of the judged documents is in the index, for example {0:?}")]
    NoJudgedDocument(String),
}

impl Explain for TuneError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Eval(error) => error.remedy(),
            Self::Fusion(error) => error.remedy(),
            Self::Sparse(error) => error.remedy(),
            Self::NoJudgedQuery { .. } => Some("give the judgments of the same queries".into()),
            Self::NoJudgedDocument(_) => Some("give the index of the collection that was judged".into()),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        if let Self::Sparse(error) = self { error.place() } else { None }
    }
}
