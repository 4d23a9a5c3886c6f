//! The flat index: every vector is scored.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use rayon::{ThreadPool, ThreadPoolBuilder};
use toller_gpu::Devices;
use toller_ir::{DocOrd, Ranking};
use toller_store::{Embeddings, OpenOptions, Store};
use toller_topk::cuda::{DevicePlan, DeviceSearch};
use toller_topk::{Collection, IpTopkOptions, Scan, Segment, TopK, Vectors, ip_topk};

use crate::IndexError;
use crate::read_ahead::ReadAhead;

/// How an index works; it does not change what is found.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexOptions {
    /// The number of threads, of the index's own; `None` for rayon's current pool, which by default has as
    /// many as the CPU, or as `RAYON_NUM_THREADS` says.
    pub threads: Option<NonZeroUsize>,
}

/// Exact search by inner product over the vectors of stores.
///
/// ```no_run
/// use toller_index::{FlatIndex, IndexOptions};
/// use toller_store::OpenOptions;
///
/// # fn main() -> Result<(), toller_index::IndexError> {
/// let index = FlatIndex::open(&["store".into()], &OpenOptions::default(), &IndexOptions::default())?;
/// let queries = vec![0.1; 2 * index.dim()]; // [2, dim]
/// for ranking in index.search(&queries, 10)? {
///     for hit in ranking.hits {
///         println!("{} {}", index.doc_id(hit.doc), hit.score);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FlatIndex {
    store: Store,
    /// For a store that is larger than memory.
    read_ahead: Option<ReadAhead>,
    pool: Option<ThreadPool>,
    /// Where it is searched, if not on the CPU.
    devices: Option<DeviceSearch>,
}

impl FlatIndex {
    /// Opens stores as one index: the vectors of the first, then those of the next.
    ///
    /// # Errors
    /// Those of [`Store::open`], and [`IndexError::Threads`].
    pub fn open(
        stores: &[PathBuf],
        store: &OpenOptions<'_>,
        options: &IndexOptions,
    ) -> Result<Self, IndexError> {
        // In the index's own threads, too, are checksums verified.
        let pool = thread_pool(options)?;
        let store = within(pool.as_ref(), || Store::open(stores, store))?;
        Ok(Self { read_ahead: ReadAhead::new(&store), store, pool, devices: None })
    }

    /// An index over an opened store.
    ///
    /// # Errors
    /// [`IndexError::Threads`].
    pub fn new(store: Store, options: &IndexOptions) -> Result<Self, IndexError> {
        Ok(Self { read_ahead: ReadAhead::new(&store), store, pool: thread_pool(options)?, devices: None })
    }

    /// The index on devices: its vectors are divided among them, and what fits their memory is copied there. The hits stay the same, bit
    /// by bit. `progress` is told of bytes of the store, as they are read.
    ///
    /// The `scan` of every search is then this one, whatever its options say.
    ///
    /// # Errors
    /// [`IndexError::Search`] with what a device lacks.
    pub fn on(mut self, devices: &Devices, scan: Scan, progress: &dyn Fn(u64)) -> Result<Self, IndexError> {
        self.devices = Some(DeviceSearch::new(devices, &self.collection()?, scan, progress)?);
        Ok(self)
    }

    /// What the memory of each device is for; none for an index on the CPU.
    pub fn plans(&self) -> impl Iterator<Item = &DevicePlan> {
        self.devices.iter().flat_map(DeviceSearch::plans)
    }

    /// The `k` documents of the largest inner product with each query, best first: one ranking a query, of
    /// `k` hits or as many as there are documents. `queries` is `[queries, dim]`.
    ///
    /// Scores and order have the same bits for any batch of queries, number of threads and division into
    /// shards or stores; see [`ip_topk`].
    ///
    /// # Errors
    /// [`IndexError::Search`] if `k` is 0, if `queries` is no whole number of vectors of the index's
    /// dimension, or if one is not finite.
    pub fn search(&self, queries: &[f32], k: usize) -> Result<Vec<Ranking>, IndexError> {
        Ok(self.search_with(queries, k, &IpTopkOptions::default())?.rankings)
    }

    /// As [`FlatIndex::search`], scanned and filtered as `options` say; the nominated are told beside.
    ///
    /// # Errors
    /// As for [`FlatIndex::search`], and what [`ip_topk`] refuses of the options.
    pub fn search_with(
        &self,
        queries: &[f32],
        k: usize,
        options: &IpTopkOptions<'_>,
    ) -> Result<TopK, IndexError> {
        let collection = self.collection()?;
        if let Some(devices) = &self.devices {
            return Ok(devices.search(&collection, queries, k, &options.filter)?);
        }
        let mut options = *options;
        let will_need;
        if let (Some(read_ahead), None) = (&self.read_ahead, options.read_ahead) {
            will_need = |bytes: &[u8]| read_ahead.will_need(self.store.shards(), bytes);
            options.read_ahead = Some(&will_need);
        }
        Ok(within(self.pool.as_ref(), || ip_topk(&collection, queries, k, &options))?)
    }

    /// The vectors of the stores, as operations take them.
    ///
    /// # Errors
    /// None that a store which was opened leaves.
    pub fn collection(&self) -> Result<Collection<'_>, IndexError> {
        let segments = self.store.shards().iter().map(|shard| Segment {
            first: shard.first(),
            vectors: match shard.embeddings() {
                Embeddings::F32(values) => Vectors::F32(values),
                Embeddings::F16(values) => Vectors::F16(values),
                Embeddings::BF16(values) => Vectors::BF16(values),
            },
            codes: shard.codes(),
        });
        Ok(Collection::new(self.dim(), segments.collect())?)
    }

    /// Checks that query vectors have the dimension of the index.
    ///
    /// # Errors
    /// [`IndexError::DimMismatch`] if they have not.
    pub fn check_dim(&self, dim: usize) -> Result<(), IndexError> {
        if dim == self.dim() {
            return Ok(());
        }
        Err(IndexError::DimMismatch { queries: dim, index: self.dim() })
    }

    /// The id of a document.
    ///
    /// # Panics
    /// If `doc` is not below [`FlatIndex::doc_count`].
    #[must_use]
    pub fn doc_id(&self, doc: DocOrd) -> &str {
        self.store.id(doc)
    }

    /// The number of documents.
    #[must_use]
    pub fn doc_count(&self) -> usize {
        self.store.count()
    }

    /// Numbers in a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.store.dim()
    }

    /// The stores behind the index.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }
}

fn thread_pool(options: &IndexOptions) -> Result<Option<ThreadPool>, IndexError> {
    let build = |threads: NonZeroUsize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads.get()).build();
        pool.map_err(|source| IndexError::Threads { threads: threads.get(), source })
    };
    options.threads.map(build).transpose()
}

/// Does `work` in `pool`, or where it is called.
fn within<T: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}
