//! Why something cannot be opened.

use std::path::PathBuf;

use toller_corpus::CorpusError;
use toller_encoder::EncoderError;
use toller_files::FileError;
use toller_gpu::DeviceError;
use toller_hub::ResolveError;
use toller_index::IndexError;
use toller_ir::{ErrorPlace, Explain, Remedy, Role, Setting, remedy};
use toller_pipeline::PipelineError;
use toller_pipeline::fusion::FusionError;
use toller_pipeline::rerank::RerankError;
use toller_sparse::SparseError;
use toller_store::StoreError;
use toller_texts::TextsError;
use toller_train::TrainError;

use crate::{AnalyzerError, BackendError, Device};

/// Why an engine cannot do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The files of a model.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// A model.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// A store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An index of vectors.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// An inverted index.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The name of an analyzer.
    #[error(transparent)]
    Analyzer(#[from] AnalyzerError),
    /// The model of an index's analyzer is not on this machine.
    #[error("the index was made with the analyzer {analyzer}, and its model is not on this machine")]
    AnalyzerModel {
        /// The analyzer's name.
        analyzer: String,
        /// Where the model was looked for.
        source: ResolveError,
    },
    /// The model that made an index's impacts is not on this machine.
    #[error("queries are encoded by the model of the index, {model}, which is not on this machine")]
    ImpactModel {
        /// The model's name.
        model: String,
        /// Where it was looked for.
        source: ResolveError,
    },
    /// A job, or a search.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A fusion.
    #[error(transparent)]
    Fusion(#[from] FusionError),
    /// A reranker.
    #[error(transparent)]
    Rerank(#[from] RerankError),
    /// The texts of a collection.
    #[error(transparent)]
    Texts(#[from] TextsError),
    /// A collection or queries.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A training.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A device that was asked for cannot be used.
    #[error("device {device}: {source}")]
    Device {
        /// The device.
        device: Device,
        /// Why.
        source: DeviceError,
    },
    /// A backend that was asked for cannot be used.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A store of queries where passages are searched, or the other way round.
    #[error("{} is a store of role {found}, and one of role {expected} is needed", path.display())]
    Role {
        /// The store.
        path: PathBuf,
        /// The role that is needed.
        expected: Role,
        /// The role of the store.
        found: Role,
    },
    /// A model that is not a directory, and no hub to look for it.
    #[error("{0} is not a model directory, and the engine has no hub to find models by name")]
    NoHub(String),
    /// The system refused the threads that were asked for.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// How many.
        threads: usize,
        /// What went wrong.
        source: rayon::ThreadPoolBuildError,
    },
    /// So many threads would only be in each other's way.
    #[error("{threads} threads are too many for this machine: at most {most}")]
    TooManyThreads {
        /// How many.
        threads: usize,
        /// How many there may be.
        most: usize,
    },
    /// Both a number of threads and a pool of threads; only one of them can be used.
    #[error("both a number of threads and a pool of threads were given")]
    TwoPools,
}

impl Explain for EngineError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Resolve(error) => return error.remedy(),
            Self::Encoder(error) => return error.remedy(),
            Self::Store(error) => return error.remedy(),
            Self::Index(error) => return error.remedy(),
            Self::Sparse(error) => return error.remedy(),
            Self::Analyzer(error) => return error.remedy(),
            Self::AnalyzerModel { .. } => remedy!(
                "name the model with `{}`: its directory on this machine or, if you trust the index, a name \
                 of the hub, from which it is then downloaded",
                Setting::Analyzer.to("wordpiece:MODEL")
            ),
            Self::ImpactModel { .. } => remedy!(
                "name the model with {}: its directory on this machine or, if you trust the index, a name of \
                 the hub, from which it is then downloaded; or encode the queries where the model is, and search \
                 for the store of their impacts",
                Setting::SparseModel
            ),
            Self::Pipeline(error) => return error.remedy(),
            Self::Fusion(error) => return error.remedy(),
            Self::Rerank(error) => return error.remedy(),
            Self::Texts(error) => return error.remedy(),
            Self::Corpus(error) => return error.remedy(),
            Self::Train(error) => return error.remedy(),
            Self::File(error) => return error.remedy(),
            Self::Device { source, .. } => return source.remedy(),
            Self::Backend(error) => return error.remedy(),
            Self::Role { expected: Role::Passage, .. } => {
                remedy!(
                    "encode the collection as passages ({}); or set {}",
                    Setting::Corpus,
                    Setting::AnyRole
                )
            }
            Self::Role { expected: Role::Query, .. } => {
                remedy!("encode the queries as queries ({}); or set {}", Setting::Queries, Setting::AnyRole)
            }
            Self::NoHub(_) => "name a directory, or give the engine a hub".into(),
            Self::Threads { .. } => "ask for fewer threads".into(),
            Self::TooManyThreads { .. } => {
                "ask for as many as there are processors, which is the default".into()
            }
            Self::TwoPools => "give one of them".into(),
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Resolve(error)
            | Self::AnalyzerModel { source: error, .. }
            | Self::ImpactModel { source: error, .. } => error.place(),
            Self::Encoder(error) => error.place(),
            Self::Rerank(error) => error.place(),
            Self::Store(error) => error.place(),
            Self::Sparse(error) => error.place(),
            Self::Pipeline(error) => error.place(),
            Self::Fusion(error) => error.place(),
            Self::Texts(error) => error.place(),
            Self::Corpus(error) => error.place(),
            Self::Train(error) => error.place(),
            Self::File(error) => error.place(),
            Self::Role { path, .. } => Some(ErrorPlace::of_file(path)),
            _ => None,
        }
    }
}
