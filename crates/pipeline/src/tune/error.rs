//! Why parameters cannot be tuned.

use toller_eval::EvalError;
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
    #[error("none of the {queries} queries is judged, {example:?} for one")]
    NoJudgedQuery {
        /// How many queries.
        queries: usize,
        /// One of them.
        example: String,
    },
    /// The index is that of another collection.
    #[error("none of the judged documents is in the index, {example:?} for one")]
    NoJudgedDocument {
        /// One of them.
        example: String,
    },
}

impl TuneError {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Eval(error) => error.hint(),
            Self::Fusion(error) => error.hint(),
            Self::Sparse(error) => error.hint(),
            Self::NoJudgedQuery { .. } => Some("give the judgments of the same queries".to_owned()),
            Self::NoJudgedDocument { .. } => {
                Some("give the index of the collection that was judged".to_owned())
            }
        }
    }
}
