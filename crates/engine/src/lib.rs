//! Toller as a library: options in; models, stores, indexes, searchers and rerankers out.
//!
//! An [`Engine`] opens everything and checks that what it opens fits together: models, roles, prompts,
//! fingerprints. It has no flags, reads no environment variable and keeps no global state, so that several
//! engines can live in one process. The command line is built on it, as a server or a binding to another
//! language would be.
//!
//! ```no_run
//! use toller_engine::{DenseOptions, EncoderOptions, Engine, Query, SearchRequest, Searcher};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let engine = Engine::builder().threads(4).build()?;
//! let encoder = engine.encoder("models/all-MiniLM-L6-v2", &EncoderOptions::default())?;
//! let searcher = engine.dense(&["store"], encoder, &DenseOptions::default())?;
//! let queries = [Query { id: "1".into(), text: "what do tollers do?".into(), ..Query::default() }];
//! let found = searcher.search(&SearchRequest::new(&queries, 10))?;
//! for hit in &found.rankings[0].hits {
//!     println!("{} {}", searcher.doc_id(hit.doc), hit.score);
//! }
//! # Ok(())
//! # }
//! ```

mod analyzer;
mod backend;
mod dense;
mod device;
mod encode;
mod encoder;
mod engine;
mod error;
mod event;
mod hybrid;
mod index;
mod inputs;
mod rerank;
mod resolve;
mod sparse;
mod text_source;
mod threads;
mod train;
mod warning;

pub use analyzer::{AnalyzerError, WORD_PIECE, check_analyzer};
pub use backend::{Backend, BackendError};
pub use dense::{DenseOptions, QuerySource};
pub use device::{Device, UnknownDevice};
pub use encode::EncodeOptions;
pub use encoder::{Encoder, EncoderOptions};
pub use engine::{Builder, Engine};
pub use error::EngineError;
pub use event::{Event, Observer, Work};
pub use index::IndexOptions;
pub use inputs::{beir_corpus, collection_files, query_files};
pub use sparse::SparseOptions;
pub use text_source::TextSource;
pub use threads::{Pooled, check_threads};
pub use train::{DevData, TextFiles, Training, TrainingData};

pub use toller_corpus::{ReadOptions, read_qrels, read_queries, read_run};
pub use toller_encoder::{Compute, CrossEncoderOptions};
pub use toller_eval::{EvalOptions, evaluate, parse_measures};
pub use toller_files::expand;
pub use toller_hub::{PublicFile, ResolveOptions};
pub use toller_ir::{
    DocOrd, Filter, Hit, Passage, Qrels, Query, Ranking, Role, Run, SearchError, SearchRequest,
    SearchResponse, Searcher,
};
pub use toller_pipeline::fusion::{Collections, Fusion, Method};
pub use toller_pipeline::rerank::{RerankOptions, RerankedSearcher, Reranker};
pub use toller_pipeline::{DocumentLists, as_run};
pub use toller_sparse::Scoring;
pub use toller_texts::TextsOptions;
pub use toller_topk::Scan;
