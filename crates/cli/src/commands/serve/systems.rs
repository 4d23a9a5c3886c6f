//! What is searched: its flags, and opening it as often as it is reloaded.

use std::path::PathBuf;
use std::sync::Arc;

use toller_encoder::CrossEncoder;
use toller_engine::{DenseOptions, Device, Encoder, Engine, QuerySource, Scan, Searcher};
use toller_files::Input;
use toller_ir::AnyError;
use toller_pipeline::fusion::{Collections, Fusion, Method, UnknownMethod};
use toller_pipeline::rerank::{RerankOptions, Unavailable};
use toller_server::{OpenSystems, Systems};
use toller_texts::TextsOptions;

use super::known_texts;
use super::runs::{RunArgs, RunPaths};
use crate::args::fusion::{FusionArgs, MethodParser};
use crate::args::input::{BadLinesArgs, CollectionArgs};
use crate::args::paths::{CachePath, InputPath};
use crate::args::sparse::SparseArgs;
use crate::error::UsageError;
use crate::ui::Ui;

/// Flags of what is searched.
#[derive(Debug, clap::Args)]
pub(super) struct SystemArgs {
    /// Stores to search, as one collection in this order
    #[arg(long, value_name = "STORE", num_args = 1.., requires = "model")]
    dense: Vec<InputPath>,

    /// Collection, for titles and texts of documents
    #[arg(long, value_name = "FILE", num_args = 1..)]
    corpus: Vec<InputPath>,

    /// Directory of the index of texts by identifier [default: in the cache folder, or next to the collection
    /// if that cannot be written]
    #[arg(long, value_name = "DIR", requires = "corpus")]
    text_index: Option<CachePath>,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,

    /// How to scan the vectors; every way gives the same hits and scores
    #[arg(long, value_name = "auto|f32|f16|int8", default_value_t = Scan::Auto, requires = "dense")]
    scan: Scan,

    /// Do not verify checksums
    #[arg(long)]
    no_verify: bool,

    /// Assume that --model made the vectors of a store that was imported without a model
    #[arg(long, requires = "dense")]
    assume_model: bool,

    /// Hits of each query that the reranker scores where a search asks for it
    #[arg(long, value_name = "N", default_value_t = 100, requires = "reranker", value_parser = clap::value_parser!(u32).range(1..))]
    rerank_depth: u32,

    #[command(flatten)]
    sparse: SparseArgs,

    /// How the hits of --sparse and --dense are fused: a method of `toller fuse` [default: rrf]
    #[arg(long, value_name = "NAME", value_parser = MethodParser)]
    fusion: Option<&'static Method>,

    /// Hits of --sparse and --dense to fuse
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    fusion_depth: u32,

    #[command(flatten)]
    fusion_args: FusionArgs,

    #[command(flatten)]
    runs: RunArgs,
}

/// The models that searches use.
pub(super) struct Models {
    pub(super) encoder: Option<Encoder>,
    pub(super) reranker: Option<Arc<CrossEncoder>>,
}

impl SystemArgs {
    pub(super) fn has_dense(&self) -> bool {
        !self.dense.is_empty()
    }

    /// Refuses wrong usage before anything is opened.
    pub(super) fn check(&self, has_model: bool, has_reranker: bool) -> Result<(), UsageError> {
        self.sparse.check()?;
        let is_hybrid = self.has_dense() && self.sparse.sparse.is_some();
        if !is_hybrid && (self.fusion.is_some() || self.fusion_args.is_given()) {
            return Err(UsageError::new(
                "hits are fused of two things to search",
                "give --sparse and --dense, or leave the flags of fusion out",
            ));
        }
        let files = self.corpus.iter().map(|path| ("--corpus", path)).chain(self.runs.files());
        if let Some((flag, _)) = files.into_iter().find(|(_, path)| path.as_os_str() == "-") {
            let message = format!("{flag} -: stdin cannot be read again for a reload");
            return Err(UsageError::new(message, format!("give {flag} a file")));
        }
        let serves_models = has_model || has_reranker;
        if !serves_models && self.sparse.sparse.is_none() && self.runs.files().next().is_none() {
            let remedy = "give --model, --reranker, --sparse or --runs";
            return Err(UsageError::new("there is nothing to serve", remedy));
        }
        Ok(())
    }

    fn fusion(&self) -> Result<Option<Fusion>, UsageError> {
        if !self.has_dense() || self.sparse.sparse.is_none() {
            return Ok(None);
        }
        let known = || {
            "rrf".parse().map_err(|error: UnknownMethod| UsageError::new(error.to_string(), "give --fusion"))
        };
        let method = self.fusion.map_or_else(known, Ok)?;
        Ok(Some(self.fusion_args.fusion(method, 2)?))
    }

    /// What opens everything that is searched; nothing if only models are served.
    pub(super) fn opener(
        &self,
        models: Models,
        device: Device,
        cut_queries: bool,
        engine: &Arc<Engine>,
        ui: &Ui,
    ) -> crate::Result<Option<OpenSystems>> {
        let runs = self.runs.paths();
        if !self.has_dense() && self.sparse.sparse.is_none() && self.corpus.is_empty() && runs.is_none() {
            return Ok(None);
        }
        let plan = Plan {
            models,
            dense: InputPath::all(&self.dense),
            dense_options: DenseOptions {
                scan: self.scan,
                device,
                verify: !self.no_verify,
                ..DenseOptions::default()
            },
            assume_model: self.assume_model,
            sparse: self.sparse.sparse.as_ref().map(PathBuf::from),
            sparse_options: self.sparse.options(!self.no_verify)?,
            fusion: self.fusion()?,
            depth: self.fusion_depth as usize,
            rerank_depth: self.rerank_depth as usize,
            cut_queries,
            corpus: engine.collection_files(&self.corpus)?,
            texts: TextsOptions {
                reading: self.collection.options(self.bad_lines.skip_bad_lines),
                directory: self.text_index.as_ref().map(Into::into),
                cache: None,
            },
            engine: engine.clone(),
            ui: ui.clone(),
            runs,
        };
        Ok(Some(Box::new(move || plan.open())))
    }
}

/// Everything that opening takes.
struct Plan {
    engine: Arc<Engine>,
    ui: Ui,
    models: Models,
    dense: Vec<PathBuf>,
    dense_options: DenseOptions,
    assume_model: bool,
    sparse: Option<PathBuf>,
    sparse_options: toller_engine::SparseOptions,
    fusion: Option<Fusion>,
    depth: usize,
    rerank_depth: usize,
    cut_queries: bool,
    corpus: Vec<Input>,
    texts: TextsOptions,
    runs: Option<RunPaths>,
}

impl Plan {
    fn open(&self) -> Result<Systems, AnyError> {
        let engine = &self.engine;
        let sparse =
            self.sparse.as_ref().map(|path| engine.sparse(path, &self.sparse_options)).transpose()?;
        let dense = match &self.models.encoder {
            Some(encoder) if !self.dense.is_empty() => {
                let queries =
                    QuerySource::Encoder { encoder: encoder.clone(), assume_model: self.assume_model };
                Some(engine.dense(&self.dense, queries, &self.dense_options)? as Arc<dyn Searcher>)
            }
            _ => None,
        };
        let hybrid = match (&sparse, &dense, &self.fusion) {
            (Some(sparse), Some(dense), Some(fusion)) => {
                let searchers = vec![sparse.clone() as Arc<dyn Searcher>, dense.clone()];
                let hybrid = engine.hybrid(searchers, fusion.clone(), self.depth, Collections::Same)?;
                Some(hybrid as Arc<dyn Searcher>)
            }
            _ => None,
        };
        let texts = match self.corpus.is_empty() {
            true => None,
            false => Some(Arc::new(engine.texts(&self.corpus, &self.texts)?)),
        };
        if let Some(texts) = &texts {
            let sparse = sparse.as_deref().map(|index| ("--sparse", index as &dyn Searcher));
            let dense = dense.as_deref().map(|stores| ("--dense", stores));
            sparse.into_iter().chain(dense).for_each(|(flag, searched)| {
                known_texts::check(flag, searched, texts, &self.ui);
            });
        }
        let reranker = match (&self.models.reranker, &texts) {
            (Some(model), Some(texts)) => {
                let options = RerankOptions {
                    depth: self.rerank_depth,
                    unavailable: Unavailable::Refuse,
                    cut_queries: self.cut_queries,
                    ..RerankOptions::default()
                };
                Some(Arc::new(engine.reranker(vec![model.clone()], texts.clone(), options)?))
            }
            _ => None,
        };
        let runs = self.runs.as_ref().map(|paths| paths.open().map(Arc::new)).transpose()?;
        Ok(Systems { sparse, dense, hybrid, reranker, texts, runs })
    }
}
