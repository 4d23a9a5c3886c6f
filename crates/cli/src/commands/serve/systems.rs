//! What is searched: its flags, and opening it as often as it is reloaded.

use std::path::PathBuf;
use std::sync::Arc;

use toller_encoder::CrossEncoder;
use toller_engine::{DenseOptions, Encoder, Engine, EngineError, QuerySource, Searcher};
use toller_ir::AnyError;
use toller_pipeline::fusion::{Collections, Fusion, FusionError, UnknownMethod};
use toller_pipeline::rerank::{RerankOptions, Unavailable};
use toller_server::{OpenSystems, Systems};
use toller_texts::TextsOptions;

use super::known_texts;
use super::runs::{RunArgs, RunPaths};
use crate::args::dense::StoreArgs;
use crate::args::device::ComputeArgs;
use crate::args::fusion::HybridArgs;
use crate::args::input::BadLinesArgs;
use crate::args::paths::InputPath;
use crate::args::sparse::SparseArgs;
use crate::args::text_index::TextIndexArgs;
use crate::error::{Remedied, UsageError};
use crate::ui::Ui;

/// What --fusion means where it has a default.
const FUSION_HELP: &str =
    "How the hits of --sparse and --dense are fused: a method of `toller fuse` [default: rrf]";

/// Flags of what is searched.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("fusion", |fusion| fusion.help(FUSION_HELP)),
    mut_arg("fusion_depth", |depth| depth.requires("dense"))
)]
pub(super) struct SystemArgs {
    /// Stores to search, as one collection in this order
    #[arg(long, value_name = "STORE", num_args = 1..)]
    dense: Vec<InputPath>,

    /// Collection, for titles and texts of documents
    #[arg(long, value_name = "FILE", num_args = 1..)]
    corpus: Vec<InputPath>,

    #[command(flatten)]
    text_index: TextIndexArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,

    #[command(flatten)]
    store_args: StoreArgs,

    /// Hits of each query that the reranker scores where a search asks for it
    #[arg(long, value_name = "N", default_value_t = 100, requires = "reranker", value_parser = clap::value_parser!(u32).range(1..))]
    rerank_depth: u32,

    #[command(flatten)]
    sparse: SparseArgs,

    #[command(flatten)]
    hybrid: HybridArgs,

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

    /// Whether a sparse model encodes queries.
    pub(super) fn has_sparse_model(&self) -> bool {
        self.sparse.has_model()
    }

    pub(super) fn dense(&self) -> &[InputPath] {
        &self.dense
    }

    /// Refuses wrong usage before anything is opened.
    pub(super) fn check(&self, has_model: bool, has_reranker: bool) -> Result<(), UsageError> {
        self.sparse.check()?;
        self.store_args.feedback()?;
        if self.has_dense() || has_reranker {
            self.sparse.check_reads_texts("serve it by itself, without --dense and --reranker")?;
        }
        let is_hybrid = self.has_dense() && self.sparse.sparse.is_some();
        if !is_hybrid && (self.hybrid.fusion.is_some() || self.hybrid.args.is_given()) {
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
        let serves = has_model || has_reranker || self.has_dense();
        if !serves && self.sparse.sparse.is_none() && self.runs.files().next().is_none() {
            let remedy = "give --model, --reranker, --dense, --sparse or --runs";
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
        let method = self.hybrid.fusion.map_or_else(known, Ok)?;
        Ok(Some(self.hybrid.args.fusion(method, 2)?))
    }

    /// What opens everything that is searched; nothing if only models are served.
    pub(super) fn opener(
        &self,
        models: Models,
        compute: &ComputeArgs,
        cut_queries: bool,
        engine: &Arc<Engine>,
        ui: &Ui,
    ) -> crate::Result<Option<OpenSystems>> {
        let runs = self.runs.paths(self.bad_lines.skip_bad_lines);
        if !self.has_dense() && self.sparse.sparse.is_none() && self.corpus.is_empty() && runs.is_none() {
            return Ok(None);
        }
        let verify = !self.store_args.no_verify;
        let plan = Plan {
            models,
            dense: InputPath::all(&self.dense),
            dense_options: DenseOptions {
                scan: self.store_args.scan,
                device: compute.device,
                verify,
                feedback: self.store_args.feedback()?,
                ..DenseOptions::default()
            },
            assume_model: self.store_args.assume_model,
            sparse: self.sparse.sparse.as_ref().map(PathBuf::from),
            sparse_options: self.sparse.options(verify, Some(compute))?,
            fusion: self.fusion()?,
            depth: self.hybrid.fusion_depth as usize,
            rerank_depth: self.rerank_depth as usize,
            cut_queries,
            corpus: InputPath::all(&self.corpus),
            texts: self.text_index.options(self.bad_lines.skip_bad_lines),
            engine: engine.clone(),
            ui: ui.clone(),
            runs,
        };
        Ok(Some(Box::new(move || plan.open())))
    }
}

/// Servers have one collection, so they do not have the flag of other commands for several.
fn of_one_collection(error: EngineError) -> AnyError {
    match error {
        EngineError::Fusion(FusionError::CollectionsDiffer { .. }) => {
            let remedy = "make the store and the index of the same collection, or serve each by itself";
            Remedied::of(&error).with_remedy(remedy).into()
        }
        error => error.into(),
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
    corpus: Vec<PathBuf>,
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
                let hybrid = engine.hybrid(searchers, fusion.clone(), self.depth, Collections::Same);
                Some(hybrid.map_err(of_one_collection)? as Arc<dyn Searcher>)
            }
            _ => None,
        };
        let texts = match self.corpus.is_empty() {
            true => None,
            // A folder may have other files at a reload.
            false => Some(Arc::new(engine.texts(&engine.collection_files(&self.corpus)?, &self.texts)?)),
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
        let runs = self.runs.as_ref().map(|paths| paths.open(&self.ui).map(Arc::new)).transpose()?;
        Ok(Systems { sparse, dense, hybrid, reranker, texts, runs })
    }
}
