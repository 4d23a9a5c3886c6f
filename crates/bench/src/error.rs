//! What can go wrong with a measurement.

use toller_encoder::EncoderError;
use toller_index::IndexError;
use toller_topk::IpTopkError;

/// Why something cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// More memory than there is.
    #[error("{vectors} vectors of {dim} numbers do not fit in memory")]
    Memory {
        /// How many vectors were asked for.
        vectors: usize,
        /// Numbers in a vector.
        dim: usize,
    },
    /// An index without vectors, or fewer queries than a batch needs.
    #[error("a batch of {batch} queries was asked for, but there are {queries}")]
    TooFewQueries {
        /// Queries of the batch.
        batch: usize,
        /// Queries that there are.
        queries: usize,
    },
    /// Another part of the program records the operations already.
    #[error("the operations are being recorded already")]
    Recording,
    /// A search failed.
    #[error(transparent)]
    Search(#[from] IpTopkError),
    /// A search in a store failed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Encoding failed.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
}

impl BenchError {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Memory { .. } => {
                Some("lower --vectors or --dim, or store halves: --store-dtype f16".to_owned())
            }
            Self::TooFewQueries { .. } => Some("lower --queries, or give more --query-vectors".to_owned()),
            Self::Recording => None,
            Self::Search(error) => error.hint(),
            Self::Index(error) => error.hint(),
            Self::Encoder(error) => error.hint(),
        }
    }
}
