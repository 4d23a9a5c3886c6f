//! What `toller search` searches for, and in: texts with a model, or vectors that were encoded before.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toller_compute::{IpTopkOptions, TopK};
use toller_corpus::read_queries;
use toller_encoder::Role;
use toller_files::Input;
use toller_index::{FlatIndex, IndexOptions};
use toller_ir::Query;
use toller_pipeline::DenseSearcher;
use toller_store::{ModelInfo, OpenOptions, Store, StoreError};

use super::search::SearchArgs;
use crate::error::UsageError;
use crate::model;
use crate::ui::Ui;

/// Queries, and the index that they are searched in.
pub enum SearchQueries {
    /// Texts, encoded as they are searched.
    Texts { searcher: Box<DenseSearcher>, queries: Vec<Query> },
    /// Vectors `[ids, dim]` of a store.
    Vectors { index: FlatIndex, ids: Vec<String>, vectors: Vec<f32> },
}

impl SearchQueries {
    /// Reads what is cheap to read first: the queries, the model, then the stores, verified last.
    pub fn open(args: &SearchArgs, ui: &Ui) -> anyhow::Result<Self> {
        if let Some(path) = &args.query_vectors {
            let store = Store::open(std::slice::from_ref(path), &OpenOptions::default())?;
            check_role(&store, toller_store::Role::Query, "--query-vectors", args)?;
            let index = open_index(args, &store.manifest().spec.model, ui)?;
            index.check_dim(store.dim())?;
            let (ids, vectors) = all_rows(&store);
            return Ok(Self::Vectors { index, ids, vectors });
        }
        let (Some(name), Some(queries)) = (&args.model, &args.queries) else {
            return Err(UsageError::new(
                "search needs queries",
                "give --model and --queries, or --query-vectors",
            )
            .into());
        };
        let (queries, skipped) = read_queries(&[Input::parse(queries)], &args.input.options()?)?;
        if skipped.total() > 0 {
            ui.warning(skipped.to_string());
        }
        let model = model::load(name, &args.model_args, ui)?;
        let index = open_index(args, &model.info, ui)?;
        let prompt = model.encoder.prompt(Role::Query).to_owned();
        let searcher = Box::new(DenseSearcher::new(index, model.encoder, prompt));
        Ok(Self::Texts { searcher, queries })
    }

    /// The number of queries.
    pub fn len(&self) -> usize {
        match self {
            Self::Texts { queries, .. } => queries.len(),
            Self::Vectors { ids, .. } => ids.len(),
        }
    }

    /// The identifier of a query.
    pub fn id(&self, query: usize) -> &str {
        match self {
            Self::Texts { queries, .. } => &queries[query].id,
            Self::Vectors { ids, .. } => &ids[query],
        }
    }

    /// What is searched.
    pub fn index(&self) -> &FlatIndex {
        match self {
            Self::Texts { searcher, .. } => searcher.index(),
            Self::Vectors { index, .. } => index,
        }
    }

    /// The hits of some of the queries.
    pub fn search(&self, range: Range<usize>, k: usize, options: &IpTopkOptions<'_>) -> anyhow::Result<TopK> {
        match self {
            Self::Texts { searcher, queries } => {
                let vectors = searcher.encode(&queries[range])?;
                Ok(searcher.index().search_with(&vectors, k, options)?)
            }
            Self::Vectors { index, vectors, .. } => {
                let dim = index.dim();
                Ok(index.search_with(&vectors[range.start * dim..range.end * dim], k, options)?)
            }
        }
    }
}

/// Opens the stores; that they are of the right role and model is known before their checksums are read.
fn open_index(args: &SearchArgs, model: &ModelInfo, ui: &Ui) -> anyhow::Result<FlatIndex> {
    let unverified = OpenOptions { verify: false, ..OpenOptions::default() };
    let store = Store::open(&args.dense, &unverified)?;
    check_role(&store, toller_store::Role::Passage, "--dense", args)?;
    check_model(&store, model, args, ui)?;
    if args.no_verify {
        return Ok(FlatIndex::new(store, &IndexOptions::default())?);
    }
    drop(store);
    let bytes: u64 = args.dense.iter().map(|path| bytes_in(path)).sum();
    let bar = ui.progress("verifying", "bytes", bytes);
    let progress = |progress: toller_store::VerifyProgress| bar.set(progress.bytes_done);
    let options = OpenOptions { verify: true, progress: Some(&progress) };
    let index = FlatIndex::open(&args.dense, &options, &IndexOptions::default());
    bar.finish();
    let index = index?;
    ui.detail(format!("index: {} vectors of {} x {}", index.doc_count(), index.dim(), index.store().dtype()));
    Ok(index)
}

/// The store's model is that of the queries. Of vectors whose model is not known the user knows it; of a text they have to
/// say so.
fn check_model(store: &Store, queries: &ModelInfo, args: &SearchArgs, ui: &Ui) -> Result<(), StoreError> {
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
fn check_role(
    store: &Store,
    expected: toller_store::Role,
    flag: &str,
    args: &SearchArgs,
) -> Result<(), UsageError> {
    let found = store.manifest().spec.encoding.role;
    if found == expected || args.any_role {
        return Ok(());
    }
    let how = match expected {
        toller_store::Role::Passage => "encode the collection with --corpus",
        toller_store::Role::Query => "encode the queries with --queries",
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
