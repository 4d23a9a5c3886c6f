//! What can go wrong with a measurement.

use toller_encoder::EncoderError;
use toller_index::IndexError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, remedy};
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

impl Explain for BenchError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Memory { .. } => Some(remedy!(
                "lower {} or {}, or store halves: {}",
                Setting::Vectors,
                Setting::Dim,
                Setting::StoreDtype.to("f16")
            )),
            Self::TooFewQueries { .. } => {
                Some(remedy!("lower {}, or give more {}", Setting::Queries, Setting::QueryVectors))
            }
            Self::Recording => None,
            Self::Search(error) => error.remedy(),
            Self::Index(error) => error.remedy(),
            Self::Encoder(error) => error.remedy(),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        if let Self::Encoder(error) = self { error.place() } else { None }
    }
}
