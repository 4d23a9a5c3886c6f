//! Dense retrieval: the flags of stores and models, and opening them.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use toller_encoder::Role;
use toller_gpu::Devices;
use toller_index::{FlatIndex, IndexOptions};
use toller_pipeline::DenseSearcher;
use toller_store::{ModelInfo, OpenOptions, Store, StoreError};
use toller_topk::Scan;

use crate::args::paths::{InputPath, ModelName};
use crate::device::Device;
use crate::error::UsageError;
use crate::model::{self, ModelArgs};
use crate::ui::Ui;

/// Flags of dense retrieval.
#[derive(Debug, clap::Args)]
pub(super) struct DenseArgs {
    /// Stores to search, as one collection in this order
    #[arg(long, value_name = "STORE", num_args = 1..)]
    pub(super) dense: Vec<InputPath>,

    /// Model to encode the queries with: the one that the store was encoded with
    #[arg(long, value_name = "M", requires = "dense")]
    model: Option<ModelName>,

    /// Store of encoded queries (`toller encode --queries`), instead of a model and queries
    #[arg(long, value_name = "STORE", requires = "dense", conflicts_with_all = ["model", "query_model", "prompt", "max_length", "pooling", "dtype"])]
    query_vectors: Option<InputPath>,

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

/// Stores that are ready to be searched.
pub(super) struct OpenedStore {
    pub(super) searcher: DenseSearcher,
    /// The queries of `--query-vectors`.
    pub(super) query_ids: Vec<String>,
}

impl DenseArgs {
    /// What can be refused before anything is read. With an inverted index, or where texts are wanted for something else,
    /// --queries are given beside --query-vectors.
    pub(super) fn check(
        &self,
        queries: Option<&InputPath>,
        with_index: bool,
        texts_wanted: bool,
    ) -> Result<(), UsageError> {
        self.model_args.device.check()?;
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
    pub(super) fn stores(&self) -> impl Iterator<Item = &InputPath> {
        self.dense.iter().chain(&self.query_vectors)
    }

    /// Opens model or vectors, then the stores, verified last.
    pub(super) fn open(&self, ui: &Ui) -> crate::Result<OpenedStore> {
        if let Some(path) = &self.query_vectors {
            let store = Store::open(&[path.into()], &OpenOptions::default())?;
            check_role(&store, Role::Query, "--query-vectors", self)?;
            let index = open_index(self, &store.manifest().spec.model, ui)?;
            index.check_dim(store.dim())?;
            let (query_ids, vectors) = all_rows(&store);
            let searcher = DenseSearcher::of_vectors(index, query_ids.clone(), vectors)?.with_scan(self.scan);
            return Ok(OpenedStore { searcher, query_ids });
        }
        let name = self.model.as_deref().unwrap_or_default();
        let model = model::load_for_search(name, &self.model_args, ui)?;
        let index = open_index(self, &model.info, ui)?;
        let searcher = DenseSearcher::new(index, model.encoder).with_scan(self.scan);
        Ok(OpenedStore { searcher, query_ids: Vec::new() })
    }
}

/// Opens the stores; that they are of the right role and model is known before their checksums are read.
fn open_index(args: &DenseArgs, model: &ModelInfo, ui: &Ui) -> crate::Result<FlatIndex> {
    let unverified = OpenOptions { verify: false, ..OpenOptions::default() };
    let store = Store::open(&InputPath::all(&args.dense), &unverified)?;
    check_role(&store, Role::Passage, "--dense", args)?;
    check_model(&store, model, args, ui)?;
    // Before the checksums are read: a device that is not there is known at once.
    let devices = args.model_args.device.devices(ui)?;
    if args.no_verify {
        return on(devices, FlatIndex::new(store, &IndexOptions::default())?, args, ui);
    }
    drop(store);
    let bytes: u64 = args.dense.iter().map(|path| bytes_in(path)).sum();
    let bar = ui.progress("verifying", "bytes", bytes);
    let progress = |progress: toller_store::VerifyProgress| bar.set(progress.bytes_done);
    let options = OpenOptions { verify: true, progress: Some(&progress) };
    let index = FlatIndex::open(&InputPath::all(&args.dense), &options, &IndexOptions::default());
    bar.finish();
    let index = index?;
    ui.detail(format!("index: {} vectors of {} x {}", index.doc_count(), index.dim(), index.store().dtype()));
    on(devices, index, args, ui)
}

/// The index on the devices, if there are any.
fn on(devices: Option<Devices>, index: FlatIndex, args: &DenseArgs, ui: &Ui) -> crate::Result<FlatIndex> {
    let Some(devices) = devices else { return Ok(index) };
    let bytes = index.store().shards().iter().map(|shard| shard.embeddings().as_bytes().len() as u64).sum();
    let bar = ui.progress("copying to the device", "bytes", bytes);
    let done = Cell::new(0);
    let index = index.on(&devices, args.scan, &|bytes| {
        done.set(done.get() + bytes);
        bar.set(done.get());
    });
    bar.finish();
    let index = index?;
    index.plans().for_each(|plan| ui.status(plan.to_string()));
    Ok(index)
}

/// The store's model is that of the queries. Of vectors whose model is not known the user knows it; of a text they have to
/// say so.
fn check_model(store: &Store, queries: &ModelInfo, args: &DenseArgs, ui: &Ui) -> Result<(), StoreError> {
    let stored = &store.manifest().spec.model;
    let unknown = !stored.is_known() || !queries.is_known();
    match store.check_model(queries) {
        Err(_) if unknown && args.query_vectors.is_some() => {
            ui.warning("imported vectors do not know their model: whether one made passages and queries is not checked");
            Ok(())
        }
        Err(StoreError::UnknownModel { .. }) if args.assume_model => Ok(()),
        checked => checked,
    }
}

/// A query is encoded differently from a passage (prompts, towers, lengths), so the two are not mixed up.
fn check_role(store: &Store, expected: Role, flag: &str, args: &DenseArgs) -> Result<(), UsageError> {
    let found = store.manifest().spec.encoding.role;
    if found == expected || args.any_role {
        return Ok(());
    }
    let how = match expected {
        Role::Passage => "encode the collection with --corpus",
        Role::Query => "encode the queries with --queries",
    };
    Err(UsageError::new(
        format!("{flag} is for a store of role {expected}, and this one is of role {found}"),
        format!("{how}; or add --any-role"),
    ))
}

/// The bytes of the files in a store's directory, for the progress bar.
fn bytes_in(directory: &Path) -> u64 {
    let entries: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let size = |path: &PathBuf| {
        if path.is_dir() { bytes_in(path) } else { path.metadata().map_or(0, |metadata| metadata.len()) }
    };
    entries.iter().map(size).sum()
}

/// The ids and the vectors of a store.
fn all_rows(store: &Store) -> (Vec<String>, Vec<f32>) {
    let mut ids = Vec::with_capacity(store.count());
    let mut vectors = vec![0.0; store.count() * store.dim()];
    let mut rest = &mut vectors[..];
    for shard in store.shards() {
        let (rows, after) = rest.split_at_mut(shard.rows() * store.dim());
        shard.embeddings().widen(0..rows.len(), rows);
        ids.extend((0..shard.rows()).map(|row| shard.id(row).to_owned()));
        rest = after;
    }
    (ids, vectors)
}
