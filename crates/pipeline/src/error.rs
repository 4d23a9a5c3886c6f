//! What can go wrong in a job.

use toller_corpus::CorpusError;
use toller_encoder::EncoderError;
use toller_files::FileError;
use toller_index::IndexError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, remedy};
use toller_sparse::SparseError;
use toller_store::StoreError;

/// Why a job failed. What it finished before is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The collection or the queries.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The model.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The text with this identifier could not be encoded.
    #[error("cannot encode {id:?}: {source}")]
    Text {
        /// The passage or query.
        id: String,
        /// Why.
        source: EncoderError,
    },
    /// A query without a vector.
    #[error("there is no vector for query {0:?}")]
    NoVector(String),
    /// A query that feedback has moved out of the numbers that f32 has.
    #[error("the weights of the feedback make a query's vector infinite")]
    FeedbackOverflow,
    /// A temporary file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The inverted index.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// A defect: the panic's message is on stderr.
    #[error("a thread of the job panicked")]
    WorkerPanicked,
    /// A collection that changed after it was surveyed.
    #[error("the collection changed while it was encoded")]
    CollectionChanged,
    /// Texts that were read with another field of contexts, or without.
    #[error("the texts were read {}, but are to be encoded {}", contexts(.read), contexts(.wanted))]
    Contexts {
        /// The field that was read.
        read: Option<String>,
        /// The field that is to be encoded.
        wanted: Option<String>,
    },
}

fn contexts(field: &Option<String>) -> String {
    field
        .as_ref()
        .map_or_else(|| "without contexts".to_owned(), |field| format!("with the contexts {field:?}"))
}

impl Explain for PipelineError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Corpus(error) => error.remedy(),
            Self::Encoder(error) | Self::Text { source: error, .. } => error.remedy(),
            Self::File(error) => error.remedy(),
            Self::Store(error) => error.remedy(),
            Self::Index(error) => error.remedy(),
            Self::Sparse(error) => error.remedy(),
            Self::FeedbackOverflow => Some("give smaller weights".into()),
            Self::NoVector(_) => Some("encode the same queries that are searched".into()),
            Self::WorkerPanicked => {
                Some("this is a defect of toller: please report it with the messages above".into())
            }
            Self::Contexts { .. } => Some("name the field of the contexts in both places".into()),
            Self::CollectionChanged => Some(remedy!(
                "run the same command again, and leave the files as they are meanwhile; with {} if they stay \
                 changed",
                Setting::Overwrite
            )),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Corpus(error) => error.place(),
            Self::Encoder(error) | Self::Text { source: error, .. } => error.place(),
            Self::File(error) => error.place(),
            Self::Store(error) => error.place(),
            Self::Sparse(error) => error.place(),
            _ => None,
        }
    }
}
