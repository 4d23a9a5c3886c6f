//! What can go wrong with reranking, and the remedy.

use std::path::PathBuf;

use toller_encoder::EncoderError;
use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, counted, remedy};
use toller_texts::TextsError;

use crate::fusion::FusionError;

/// An error of reranking.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RerankError {
    /// The texts of the collection.
    #[error(transparent)]
    Texts(#[from] TextsError),
    /// A file of the score cache.
    #[error(transparent)]
    File(#[from] FileError),
    /// A model, for no pair in particular.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// A pair that cannot be scored.
    #[error("cannot score document {document:?} for query {query:?}: {source}")]
    Pair {
        /// The query.
        query: String,
        /// The document.
        document: String,
        /// Why.
        source: Box<EncoderError>,
    },
    /// Queries that a model cannot score with any passage.
    #[error("cannot rerank the hits of {}, the first of them {query:?}: {source}", counted(*count, "query"))]
    Query {
        /// How many.
        count: usize,
        /// The first.
        query: String,
        /// Why.
        source: Box<EncoderError>,
    },
    /// Scores that cannot be combined.
    #[error(transparent)]
    Fusion(#[from] FusionError),
    /// Documents to be scored that are not in the collection.
    #[error(
        "the collection does not have {} to rerank, for example {document:?} of query {query:?}",
        counted(*count, "document")
    )]
    MissingDocuments {
        /// How many.
        count: usize,
        /// The query of the first.
        query: String,
        /// The first.
        document: String,
    },
    /// Queries to be reranked that have no text.
    #[error("the text of {} of the run is missing, for example {query:?}", counted(*count, "query"))]
    MissingQueries {
        /// How many.
        count: usize,
        /// The first.
        query: String,
    },
    /// A model's score that is not a finite number.
    #[error("the score of document {document:?} for query {query:?} is {score}")]
    NotFinite {
        /// The query.
        query: String,
        /// The document.
        document: String,
        /// The score.
        score: f32,
    },
    /// Options that cannot be used.
    #[error("{0}")]
    Options(String),
    /// The directory of a score cache holds something else.
    #[error("{} is not empty and no score cache: it holds {entry}", path.display())]
    DirectoryInUse {
        /// The directory.
        path: PathBuf,
        /// The name of an entry that does not belong there.
        entry: String,
    },
    /// Another process is using the score cache.
    #[error("another process is writing the scores in {}", .0.display())]
    Locked(PathBuf),
    /// The work was stopped. Scores are in the cache, if there is one.
    #[error("stopped after {done} of {all} pairs")]
    Stopped {
        /// Pairs that have a score.
        done: u64,
        /// All pairs.
        all: u64,
    },
    /// A defect: the panic's message is on stderr.
    #[error("a thread of the reranker panicked")]
    WorkerPanicked,
}

impl RerankError {
    /// An error of scoring `document` for `query`.
    pub(super) fn pair(query: &str, document: &str, source: EncoderError) -> Self {
        Self::Pair { query: query.to_owned(), document: document.to_owned(), source: Box::new(source) }
    }
}

impl Explain for RerankError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Texts(error) => error.remedy(),
            Self::File(error) => error.remedy(),
            Self::Encoder(error) => error.remedy(),
            Self::Pair { source, .. } | Self::Query { source, .. } => source.remedy(),
            Self::Fusion(error) => error.remedy(),
            Self::MissingDocuments { .. } => Some(remedy!(
                "give the collection that the run was retrieved from; or {} keeps such documents below \
                 the reranked ones",
                Setting::SkipUnavailable
            )),
            Self::MissingQueries { .. } => Some(remedy!(
                "give the queries that the run was retrieved for; or {} leaves their hits as they are",
                Setting::SkipUnavailable
            )),
            Self::DirectoryInUse { .. } => Some("name another directory".into()),
            Self::Locked(_) => Some("wait until it has ended, and run the same command again".into()),
            Self::WorkerPanicked => {
                Some("this is a defect of toller: please report it with the messages above".into())
            }
            Self::NotFinite { .. } => Some(remedy!(
                "the model or its {} cannot score this pair; try {}",
                Setting::Dtype,
                Setting::Dtype.to("f32")
            )),
            Self::Options(_) | Self::Stopped { .. } => None,
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Texts(error) => error.place(),
            Self::File(error) => error.place(),
            Self::Encoder(error) => error.place(),
            Self::Pair { source, .. } | Self::Query { source, .. } => source.place(),
            Self::DirectoryInUse { path, .. } | Self::Locked(path) => Some(ErrorPlace::of_file(path)),
            _ => None,
        }
    }
}
