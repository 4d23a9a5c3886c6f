//! Dense retrieval: the flags of stores and models, and opening them.

use std::path::PathBuf;
use std::sync::Arc;

use toller_engine::{DenseOptions, Device, Engine, Pooled, QuerySource, Scan};
use toller_pipeline::DenseSearcher;

use crate::device;
use crate::engine::in_flags;
use crate::error::UsageError;
use crate::model::{self, ModelArgs};
use crate::ui::Ui;

/// Flags of dense retrieval.
#[derive(Debug, clap::Args)]
pub(super) struct DenseArgs {
    /// Stores to search, as one collection in this order
    #[arg(long, value_name = "STORE", num_args = 1..)]
    pub(super) dense: Vec<PathBuf>,

    /// Model to encode the queries with: the one that the store was encoded with
    #[arg(long, value_name = "M", requires = "dense")]
    model: Option<String>,

    /// Store of encoded queries (`toller encode --queries`), instead of a model and queries
    #[arg(long, value_name = "STORE", requires = "dense", conflicts_with_all = ["model", "query_model", "prompt", "max_length", "pooling", "dtype"])]
    query_vectors: Option<PathBuf>,

    /// How to scan the vectors; every way gives the same hits and scores
    #[arg(long, value_name = "auto|f32|f16|int8", default_value_t = Scan::Auto, requires = "dense", help_heading = "Machine")]
    pub(super) scan: Scan,

    /// Trust what is searched: verify no checksums, and no identifiers across several stores
    #[arg(long)]
    pub(super) no_verify: bool,

    /// Take a store of queries for --dense, or one of passages for --query-vectors
    #[arg(long, requires = "dense")]
    any_role: bool,

    /// Take --model for the model of a store that was imported without one
    #[arg(long, requires = "dense", conflicts_with = "query_vectors")]
    assume_model: bool,

    #[command(flatten)]
    pub(super) model_args: ModelArgs,
}

impl DenseArgs {
    /// What can be refused before anything is read. With an inverted index, or where texts are wanted for something else,
    /// --queries are given beside --query-vectors.
    pub(super) fn check(
        &self,
        queries: Option<&PathBuf>,
        with_index: bool,
        texts_wanted: bool,
    ) -> Result<(), UsageError> {
        device::check(self.model_args.device)?;
        if self.dense.is_empty() {
            return match queries {
                _ if !with_index => Err(UsageError::new(
                    "there is nothing to search",
                    "give --dense STORE, --sparse DIR, or both",
                )),
                None => Err(UsageError::new("search needs queries", "give --queries")),
                Some(_) => self.check_unused(texts_wanted),
            };
        }
        match (&self.model, &self.query_vectors, queries) {
            (None, Some(_), Some(_)) if with_index || texts_wanted => Ok(()),
            (None, Some(_), None) if with_index => {
                Err(UsageError::new("an inverted index is searched by texts", "give --queries too"))
            }
            (Some(_), None, Some(_)) | (None, Some(_), None) => Ok(()),
            (_, Some(_), Some(_)) => Err(UsageError::new(
                "--query-vectors and --queries would both say what is searched for",
                "give one of them",
            )),
            _ => {
                Err(UsageError::new("search needs queries", "give --model and --queries, or --query-vectors"))
            }
        }
    }

    /// Without a store there is no model and nothing for a GPU: flags for them would be left out of account. Those of how a
    /// model computes hold for cross-encoders too, where texts are wanted for them.
    fn check_unused(&self, texts_wanted: bool) -> Result<(), UsageError> {
        let ModelArgs { max_length, prompt, query_model, pooling, dim, device, dtype, batch_tokens: _ } =
            &self.model_args;
        let flags = [
            ("--max-length", max_length.is_some()),
            ("--prompt", prompt.is_some()),
            ("--query-model", query_model.is_some()),
            ("--pooling", pooling.is_some()),
            ("--dim", dim.is_some()),
            ("--dtype", dtype.is_some() && !texts_wanted),
            ("--device", !matches!(device, Device::Auto | Device::Cpu)),
        ];
        match flags.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(UsageError::new(
                format!("{flag} is of dense search, and no store is searched"),
                format!("give --dense STORE, or leave {flag} out"),
            )),
            None => Ok(()),
        }
    }

    /// The directories that are read.
    pub(super) fn stores(&self) -> impl Iterator<Item = &PathBuf> {
        self.dense.iter().chain(&self.query_vectors)
    }

    /// Opens model or vectors, then the stores.
    pub(super) fn open(&self, engine: &Engine, ui: &Ui) -> crate::Result<Arc<Pooled<DenseSearcher>>> {
        let queries = match &self.query_vectors {
            Some(path) => QuerySource::Store(path.clone()),
            None => {
                let name = self.model.as_deref().unwrap_or_default();
                let encoder = model::load_for_search(name, &self.model_args, engine, ui)?;
                QuerySource::Encoder { encoder, assume_model: self.assume_model }
            }
        };
        let options = DenseOptions {
            scan: self.scan,
            device: self.model_args.device,
            verify: !self.no_verify,
            any_role: self.any_role,
        };
        engine.dense(&self.dense, queries, &options).map_err(in_flags)
    }
}
