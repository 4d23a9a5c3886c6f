//! Dense retrieval: the flags of stores and models, and opening them.

use std::sync::Arc;

use toller_engine::{DenseOptions, Device, Encoder, Engine, EngineError, Pooled, QuerySource, Scan};
use toller_hub::ResolveError;
use toller_pipeline::DenseSearcher;
use toller_pipeline::feedback::{VectorFeedback, VectorFeedbackName};

use super::device;
use super::model::{self, ModelArgs};
use super::paths::{InputPath, ModelName};
use super::sparse::weight;
use crate::engine::in_flags;
use crate::error::{Remedied, UsageError};
use crate::flags::first_given;
use crate::ui::Ui;

/// Flags of how --dense is read.
#[derive(Debug, clap::Args)]
pub struct StoreArgs {
    /// How to scan the vectors; every way gives the same hits and scores
    #[arg(long, value_name = "auto|f32|f16|int8", default_value_t = Scan::Auto, requires = "dense")]
    pub scan: Scan,

    /// Do not verify checksums, nor that identifiers are unique across several stores
    #[arg(long)]
    pub no_verify: bool,

    /// Assume that --model made the vectors of a store that was imported without a model
    #[arg(long, requires = "dense")]
    pub assume_model: bool,

    #[command(flatten)]
    feedback: VectorFeedbackArgs,
}

/// Flags of the feedback on vectors.
#[derive(Debug, clap::Args)]
struct VectorFeedbackArgs {
    /// Move the vectors of queries towards those of their best hits, and search again: average or rocchio
    #[arg(long, value_name = "HOW", requires = "dense")]
    vector_prf: Option<VectorFeedbackName>,

    /// Best hits that queries are moved towards [default: 3]
    #[arg(long, value_name = "N", requires = "vector_prf", value_parser = clap::value_parser!(u32).range(1..))]
    vector_prf_docs: Option<u32>,

    /// Weight of the query, for rocchio [default: 0.9]
    #[arg(long, value_name = "X", requires = "vector_prf", allow_negative_numbers = true, value_parser = weight)]
    vector_prf_alpha: Option<f32>,

    /// Weight of the mean of the best hits, for rocchio [default: 0.1]
    #[arg(long, value_name = "X", requires = "vector_prf", allow_negative_numbers = true, value_parser = weight)]
    vector_prf_beta: Option<f32>,
}

impl StoreArgs {
    /// How queries are moved towards their best hits.
    pub fn feedback(&self) -> Result<Option<VectorFeedback>, UsageError> {
        let VectorFeedbackArgs { vector_prf, vector_prf_docs, vector_prf_alpha, vector_prf_beta } =
            self.feedback;
        let documents = vector_prf_docs.map(|documents| documents as usize);
        let feedback = vector_prf
            .map(|name| VectorFeedback::new(name, documents, vector_prf_alpha, vector_prf_beta))
            .transpose();
        feedback.map_err(|error| UsageError::new(error.to_string(), error.hint()))
    }
}

/// Flags of dense retrieval.
#[derive(Debug, clap::Args)]
#[command(mut_arg("assume_model", |assumed| assumed.conflicts_with("query_vectors")))]
pub struct DenseArgs {
    /// Stores to search, as one collection in this order
    #[arg(long, value_name = "STORE", num_args = 1..)]
    pub dense: Vec<InputPath>,

    /// Model to encode the queries with [default: the one that the store was encoded with]
    #[arg(long, value_name = "M")]
    model: Option<ModelName>,

    /// Store of encoded queries (`toller encode --queries`), instead of a model and queries
    #[arg(long, value_name = "STORE", requires = "dense", conflicts_with_all = ["model", "query_model", "prompt", "max_length", "pooling", "normalize_embeddings", "append_eos_token", "dim", "dtype"])]
    query_vectors: Option<InputPath>,

    #[command(flatten)]
    pub store_args: StoreArgs,

    /// Accept a store of queries for --dense, or of passages for --query-vectors
    #[arg(long, requires = "dense")]
    any_role: bool,

    #[command(flatten)]
    pub model_args: ModelArgs,
}

impl DenseArgs {
    /// Refuses wrong usage before anything is read. --queries and --query-vectors go together only if an
    /// inverted index or a reranker needs the texts. Whether other models compute as the flags say is
    /// `others_compute`.
    pub fn check(
        &self,
        has_queries: bool,
        with_index: bool,
        texts_wanted: bool,
        others_compute: bool,
    ) -> Result<(), UsageError> {
        let compute = &self.model_args.compute;
        if self.query_vectors.is_some() && !others_compute {
            compute.check_unused("leave --backend out, or give --model and --queries")?;
        }
        compute.check()?;
        if self.dense.is_empty() {
            return match has_queries {
                _ if !with_index => Err(UsageError::new(
                    "there is nothing to search",
                    "give --dense STORE, --sparse DIR, or both",
                )),
                false => Err(UsageError::new("search needs queries", "give --queries")),
                true => self.check_unused(others_compute),
            };
        }
        // Stores are searched by Toller's own kernels, whatever computes the model.
        device::check(compute.device)?;
        match (&self.model, &self.query_vectors, has_queries) {
            (None, Some(_), true) if with_index || texts_wanted => Ok(()),
            (None, Some(_), false) if with_index => {
                Err(UsageError::new("searching an inverted index needs texts", "give --queries too"))
            }
            (_, None, true) | (None, Some(_), false) => Ok(()),
            (Some(_), None, false) => Err(UsageError::new("search needs queries", "give --queries")),
            (_, Some(_), true) => Err(UsageError::new(
                "--query-vectors and --queries both give the queries",
                "give one of them",
            )),
            _ => Err(UsageError::new("search needs queries", "give --queries or --query-vectors")),
        }
    }

    /// Refuses flags that have no effect without a store: those of the model and of a GPU. The flags of how a
    /// model computes also apply to cross-encoders and to the model of an index of impacts.
    fn check_unused(&self, others_compute: bool) -> Result<(), UsageError> {
        let compute = self.model_args.compute.flags().into_iter().filter(|_| !others_compute);
        let model = ("--model", self.model.is_some());
        match first_given([model].into_iter().chain(self.model_args.flags()).chain(compute)) {
            Some("--model") => Err(UsageError::new(
                "--model is for dense search, and no store is searched",
                "give --dense STORE; the model of an index of impacts is named by --sparse-model",
            )),
            Some(flag) => Err(UsageError::new(
                format!("{flag} is for dense search, and no store is searched"),
                format!("give --dense STORE, or leave {flag} out"),
            )),
            None => Ok(()),
        }
    }

    /// Whether the queries are given as vectors.
    pub fn has_query_vectors(&self) -> bool {
        self.query_vectors.is_some()
    }

    /// The directories that are read.
    pub fn stores(&self) -> impl Iterator<Item = &InputPath> {
        self.dense.iter().chain(&self.query_vectors)
    }

    /// Opens model or vectors, then the stores.
    pub fn open(&self, engine: &Engine, ui: &Ui) -> crate::Result<Arc<Pooled<DenseSearcher>>> {
        self.open_with(self.model_args.compute.device, None, engine, ui)
    }

    /// As [`DenseArgs::open`], with the vectors of the stores on this device.
    pub fn open_on(
        &self,
        device: Device,
        engine: &Engine,
        ui: &Ui,
    ) -> crate::Result<Arc<Pooled<DenseSearcher>>> {
        self.open_with(device, None, engine, ui)
    }

    /// As [`DenseArgs::open`], for a part of the rows: which, counted from one, and of how many.
    pub fn open_part(
        &self,
        part: (u32, u32),
        engine: &Engine,
        ui: &Ui,
    ) -> crate::Result<Arc<Pooled<DenseSearcher>>> {
        self.open_with(self.model_args.compute.device, Some(part), engine, ui)
    }

    fn open_with(
        &self,
        device: Device,
        part: Option<(u32, u32)>,
        engine: &Engine,
        ui: &Ui,
    ) -> crate::Result<Arc<Pooled<DenseSearcher>>> {
        let StoreArgs { scan, no_verify, assume_model, .. } = &self.store_args;
        let feedback = self.store_args.feedback()?;
        let queries = match &self.query_vectors {
            Some(path) => QuerySource::Store(path.into()),
            None => {
                let encoder = load(self.model.as_ref(), &self.dense, &self.model_args, engine, ui)?;
                QuerySource::Encoder { encoder, assume_model: *assume_model }
            }
        };
        let (scan, verify, any_role) = (*scan, !no_verify, self.any_role);
        let options = DenseOptions { scan, device, part, verify, any_role, feedback };
        engine.dense(&self.dense, queries, &options).map_err(in_flags)
    }
}

/// Loads the model of this name, or else the one that made the first of these stores.
pub fn load(
    model: Option<&ModelName>,
    stores: &[InputPath],
    args: &ModelArgs,
    engine: &Engine,
    ui: &Ui,
) -> crate::Result<Encoder> {
    if let Some(name) = model {
        return model::load(name, args, engine, ui);
    }
    let store = engine.open_store(stores.get(..1).unwrap_or_default(), false)?;
    let model = &store.manifest().spec.model;
    if !model.is_known() {
        let message = "the store does not name its model, so these texts cannot be encoded";
        let remedy = "give the model that made the vectors: --model NAME --assume-model";
        return Err(UsageError::new(message, remedy).into());
    }
    let loaded = model::load_pair(&model.name, model.query_model.as_deref(), args, engine, ui);
    let encoder = loaded.map_err(|failure| match failure.downcast_ref() {
        Some(error @ EngineError::Resolve(ResolveError::NotFound { name, cause: None, .. })) => {
            let flag = match name {
                name if *name == model.name => "--model",
                name if args.query_model.is_none() && Some(name) == model.query_model.as_ref() => {
                    "--query-model"
                }
                _ => return failure,
            };
            let remedy = format!("name this model of the store, or the directory where it is now, in {flag}");
            Remedied::of(error).with_remedy(remedy).into()
        }
        _ => failure,
    })?;
    ui.status(format!("queries are encoded by the model of the store, {}", encoder.info()));
    Ok(encoder)
}
