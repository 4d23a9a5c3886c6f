//! What can go wrong with an index.

use toller_ir::{Explain, Remedy};
use toller_topk::IpTopkError;

/// Why an index cannot be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The queries are not vectors that can be searched with, or no hits are asked for.
    #[error(transparent)]
    Search(#[from] IpTopkError),
    /// Query vectors of another dimension than the index's.
    #[error("the queries have {queries} dimensions, the index has {index}")]
    DimMismatch {
        /// Numbers in a query vector.
        queries: usize,
        /// Numbers in a vector of the index.
        index: usize,
    },
}

impl Explain for IndexError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Search(error) => error.remedy(),
            Self::DimMismatch { .. } => {
                Some("encode the queries with the model that encoded the collection".into())
            }
        }
    }
}
