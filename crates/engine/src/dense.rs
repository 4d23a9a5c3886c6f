//! Dense retrieval: opening stores of vectors.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use toller_files::Checksum;
use toller_index::FlatIndex;
use toller_ir::{DocOrd, Query, Role, SearchRequest, SearchResponse};
use toller_pipeline::DenseSearcher;
use toller_pipeline::feedback::VectorFeedback;
use toller_store::{ImpactStore, ModelInfo, Part, Store, StoreError};
use toller_topk::{FirstRank, Scan};

use crate::event::{Event, Work};
use crate::threads::Pooled;
use crate::{Device, Encoder, Engine, EngineError};

/// How stores are searched.
#[derive(Clone, Debug)]
pub struct DenseOptions {
    /// How the vectors are scanned; every way gives the same hits.
    pub scan: Scan,
    /// Where they are scanned.
    pub device: Device,
    /// Which part of the rows is searched, counted from one, and of how many; `None` for all. The parts of a
    /// store that was encoded in as many parts are those parts.
    pub part: Option<(u32, u32)>,
    /// Whether checksums are verified and, of several stores, that no identifier occurs twice.
    pub verify: bool,
    /// Whether stores may be searched that were encoded as queries, and with vectors of passages.
    pub any_role: bool,
    /// How queries are moved towards their best hits, if they are.
    pub feedback: Option<VectorFeedback>,
}

impl Default for DenseOptions {
    fn default() -> Self {
        Self {
            scan: Scan::Auto,
            device: Device::Auto,
            part: None,
            verify: true,
            any_role: false,
            feedback: None,
        }
    }
}

/// Where the vectors of queries come from.
pub enum QuerySource {
    /// A model encodes the texts of the queries.
    Encoder {
        /// The model that the stores were encoded with.
        encoder: Encoder,
        /// Whether the model is taken for that of a store that does not know its model.
        assume_model: bool,
    },
    /// A store of encoded queries, which are found by their identifiers.
    Store(PathBuf),
}

impl From<Encoder> for QuerySource {
    fn from(encoder: Encoder) -> Self {
        Self::Encoder { encoder, assume_model: false }
    }
}

impl Pooled<DenseSearcher> {
    /// [`DenseSearcher::search_identified`], in the engine's threads.
    ///
    /// # Errors
    /// Those of [`DenseSearcher::search_identified`].
    pub fn search_identified(
        &self,
        request: &SearchRequest<'_>,
    ) -> Result<(SearchResponse, Vec<Checksum>), EngineError> {
        Ok(self.in_threads(|searcher| searcher.search_identified(request))?)
    }

    /// [`DenseSearcher::first_ranks`], in the engine's threads.
    ///
    /// # Errors
    /// Those of [`DenseSearcher::first_ranks`].
    pub fn first_ranks(
        &self,
        queries: &[Query],
        relevant: &[Vec<DocOrd>],
        groups: Option<&[u32]>,
    ) -> Result<Vec<Option<FirstRank>>, EngineError> {
        Ok(self.in_threads(|searcher| searcher.first_ranks(queries, relevant, groups))?)
    }
}

impl Engine {
    /// Opens stores to be searched, as one collection in this order.
    ///
    /// # Errors
    /// Stores that are damaged, of another role, or of another model than the queries; a device that cannot
    /// be used.
    pub fn dense<P: AsRef<Path> + Sync>(
        &self,
        stores: &[P],
        queries: impl Into<QuerySource>,
        options: &DenseOptions,
    ) -> Result<Arc<Pooled<DenseSearcher>>, EngineError> {
        let searcher = match queries.into() {
            QuerySource::Encoder { encoder, assume_model } => {
                self.warn_of_similarity(&encoder);
                let check = |store: &Store| match store.check_model(encoder.info()) {
                    Err(StoreError::UnknownModel { .. }) if assume_model => Ok(()),
                    checked => checked.map_err(|error| or_other_dim(error, store, encoder.dim())),
                };
                DenseSearcher::new(self.open_flat(stores, options, check)?, encoder.model)?
            }
            QuerySource::Store(path) => {
                let queries = self.open_store(slice::from_ref(&path), false)?;
                check_role(&path, &queries, Role::Query, options)?;
                if options.verify {
                    self.verifying(|progress| queries.verify(progress))?;
                }
                let made_by = &queries.manifest().spec.model;
                let check = |store: &Store| {
                    let checked = self.check_model(store, made_by);
                    checked.map_err(|error| or_other_dim(error, store, queries.dim()))
                };
                DenseSearcher::of_store(self.open_flat(stores, options, check)?, queries)?
            }
        };
        Ok(Pooled::new(searcher.with_feedback(options.feedback), &self.threads))
    }

    /// Opens stores as one collection.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn open_store<P: AsRef<Path> + Sync>(
        &self,
        stores: &[P],
        verify: bool,
    ) -> Result<Store, EngineError> {
        Ok(self.opening(verify, |options| Store::open(stores, options))?)
    }

    /// Opens a store of impacts.
    ///
    /// # Errors
    /// Those of [`ImpactStore::open`].
    pub fn open_impacts(&self, store: &Path, verify: bool) -> Result<ImpactStore, EngineError> {
        Ok(self.opening(verify, |options| ImpactStore::open(store, options))?)
    }

    /// Opens stores as an index. Cheap checks come before checksums: the role, the model, and whether the
    /// device is there.
    fn open_flat<P: AsRef<Path> + Sync>(
        &self,
        stores: &[P],
        options: &DenseOptions,
        check_model: impl FnOnce(&Store) -> Result<(), StoreError>,
    ) -> Result<FlatIndex, EngineError> {
        let store = self.open_store(stores, false)?;
        check_role(stores[0].as_ref(), &store, Role::Passage, options)?;
        check_model(&store)?;
        let rows = match options.part {
            Some((index, of)) => {
                let rows = Part::new(index, of, store.count() as u64)?.rows(store.count() as u64);
                rows.start as usize..rows.end as usize
            }
            None => 0..store.count(),
        };
        let devices = self.devices(options.device)?;
        if options.verify {
            self.verifying(|progress| store.verify_rows(&rows, progress))?;
        }
        let bytes = (rows.len() * store.dim() * store.dtype().size()) as u64;
        let index = FlatIndex::of_rows(store, rows, options.scan);
        let Some(devices) = devices else {
            self.notify(Event::IndexOpened(&index));
            return Ok(index);
        };
        // The engine's threads report, one at a time.
        let done = AtomicU64::new(0);
        let progress = |bytes_read| {
            let done = done.fetch_add(bytes_read, Ordering::Relaxed) + bytes_read;
            self.notify(Event::Progress { work: Work::Copy, done, total: Some(bytes) });
        };
        let index = self.in_threads(|| index.on(&devices, &progress));
        self.notify(Event::Finished);
        let index = index?;
        self.notify(Event::IndexOpened(&index));
        index.plans().for_each(|plan| self.notify(Event::DevicePlanned(plan)));
        Ok(index)
    }

    /// Checks that a store and the queries have the same model. A user who gives vectors of an unknown model
    /// is trusted.
    fn check_model(&self, store: &Store, queries: &ModelInfo) -> Result<(), StoreError> {
        if !store.check_known_model(queries)? {
            self.notify(Event::ModelUnchecked);
        }
        Ok(())
    }
}

/// A query is encoded differently from a passage (prompts, towers, lengths), so the two are not mixed up.
fn check_role(path: &Path, store: &Store, expected: Role, options: &DenseOptions) -> Result<(), EngineError> {
    let found = store.manifest().spec.encoding.role;
    if found == expected || options.any_role {
        return Ok(());
    }
    Err(EngineError::Role { path: path.to_owned(), expected, found })
}

/// What is wrong with a store that is searched with vectors of `dim` numbers: the same model with fewer
/// dimensions has another fingerprint, too.
fn or_other_dim(error: StoreError, store: &Store, dim: usize) -> StoreError {
    match error {
        StoreError::WrongModel { .. } if store.dim() != dim => {
            StoreError::OtherDim { stored: store.dim(), queries: dim }
        }
        error => error,
    }
}
