//! The flat index: every vector is scored.

use std::ops::Range;
use std::sync::Arc;

use toller_gpu::Devices;
use toller_ir::{DocOrd, Filter};
use toller_store::Store;
use toller_topk::cuda::{DevicePlan, DeviceSearch};
use toller_topk::{Collection, FirstRank, IpTopkOptions, Scan, Segment, TopK, ip_first_ranks, ip_topk};

use crate::IndexError;
use crate::read_ahead::{ReadAhead, available_memory};

/// Queries of a pass over a store that is larger than memory: multiplying takes the CPU longer than reading.
const QUERIES_OF_A_PASS: usize = 1024;

/// Exact search by inner product over the vectors of stores.
///
/// An index computes in rayon's current thread pool. How vectors are scanned is chosen when it is made; every
/// way gives the same hits.
///
/// ```no_run
/// use toller_index::FlatIndex;
/// use toller_ir::Filter;
/// use toller_store::{OpenOptions, Store};
/// use toller_topk::Scan;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = FlatIndex::new(Store::open(&["store"], &OpenOptions::default())?, Scan::Auto);
/// let queries = vec![0.1; 2 * index.dim()]; // [2, dim]
/// for ranking in index.search(&queries, 10, &Filter::default())?.rankings {
///     for hit in ranking.hits {
///         println!("{} {}", index.doc_id(hit.doc), hit.score);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FlatIndex {
    store: Arc<Store>,
    /// The rows that are searched.
    rows: Range<usize>,
    scan: Scan,
    /// For rows that are larger than memory.
    read_ahead: Option<ReadAhead>,
    /// Where the index is searched, if not on the CPU.
    devices: Option<DeviceSearch>,
}

impl FlatIndex {
    /// An index over an opened store, searched on the CPU.
    #[must_use]
    pub fn new(store: impl Into<Arc<Store>>, scan: Scan) -> Self {
        let store = store.into();
        let rows = 0..store.count();
        Self::of_rows(store, rows, scan)
    }

    /// An index over some rows of an opened store, searched on the CPU. They keep their ordinals.
    #[must_use]
    pub fn of_rows(store: impl Into<Arc<Store>>, rows: Range<usize>, scan: Scan) -> Self {
        let store = store.into();
        let read_ahead = ReadAhead::new(&store, &rows, available_memory());
        Self { store, rows, scan, read_ahead, devices: None }
    }

    /// The same index, searched on devices: the vectors are divided among them, and what fits their memory is
    /// copied there. The hits are bit for bit those of the CPU. `progress` is called with bytes of the store
    /// as they are read.
    ///
    /// # Errors
    /// [`IndexError::Search`] if a device is missing something.
    pub fn on(mut self, devices: &Devices, progress: &dyn Fn(u64)) -> Result<Self, IndexError> {
        self.devices = Some(DeviceSearch::new(devices, &self.collection()?, self.scan, progress)?);
        Ok(self)
    }

    /// How the memory of each device is used; nothing for an index on the CPU.
    pub fn plans(&self) -> impl Iterator<Item = &DevicePlan> {
        self.devices.iter().flat_map(DeviceSearch::plans)
    }

    /// The `k` documents of the largest inner product with each query, best first: one ranking a query, of
    /// `k` hits or as many as the filter leaves. `queries` is `[queries, dim]`.
    ///
    /// Scores and order have the same bits for any batch of queries, number of threads and division into
    /// shards or stores; see [`ip_topk`].
    ///
    /// # Errors
    /// [`IndexError::Search`] if `k` is 0, if `queries` is not a whole number of vectors of the index's
    /// dimension, if one is not finite, or if [`ip_topk`] refuses the filter or the scan.
    pub fn search(&self, queries: &[f32], k: usize, filter: &Filter<'_>) -> Result<TopK, IndexError> {
        let collection = self.collection()?;
        self.with_options(filter, |options| {
            Ok(match &self.devices {
                Some(devices) => devices.search(&collection, queries, k, options)?,
                None => ip_topk(&collection, queries, k, options)?,
            })
        })
    }

    /// The rank of the best of each query's `relevant` documents among all; with `groups`, the number of each
    /// ordinal's group, among the groups. See [`ip_first_ranks`]. Computed on the CPU, wherever the index is
    /// searched.
    ///
    /// # Errors
    /// [`IndexError::Search`] if [`ip_first_ranks`] refuses an argument.
    pub fn first_ranks(
        &self,
        queries: &[f32],
        relevant: &[Vec<DocOrd>],
        groups: Option<&[u32]>,
    ) -> Result<Vec<Option<FirstRank>>, IndexError> {
        let collection = self.collection()?;
        self.with_options(&Filter::default(), |options| {
            Ok(ip_first_ranks(&collection, queries, relevant, groups, options)?)
        })
    }

    /// Scans with the options of this index.
    fn with_options<T>(&self, filter: &Filter<'_>, scan: impl FnOnce(&IpTopkOptions<'_>) -> T) -> T {
        let mut options = IpTopkOptions { scan: self.scan, filter: *filter, read_ahead: None };
        let will_need;
        if let Some(read_ahead) = &self.read_ahead {
            will_need = |bytes: &[u8]| read_ahead.will_need(self.store.shards(), bytes);
            options.read_ahead = Some(&will_need);
        }
        scan(&options)
    }

    /// The vectors of the rows that are searched, as operations take them.
    ///
    /// # Errors
    /// None for a store that was opened.
    pub fn collection(&self) -> Result<Collection<'_>, IndexError> {
        let segments = self.store.shards().iter().filter_map(|shard| {
            let rows = shard.rows_within(&self.rows);
            let (vectors, codes) = (shard.embeddings(), shard.codes());
            let whole = Segment { first: shard.first(), vectors, codes };
            (!rows.is_empty()).then(|| whole.of_rows(rows, self.dim()))
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

    /// The number of documents of the stores.
    #[must_use]
    pub fn doc_count(&self) -> usize {
        self.store.count()
    }

    /// The queries that are best searched together, where vectors are read again for every search: by
    /// devices, which may not hold them all, and from a store that is larger than memory.
    #[must_use]
    pub fn queries_at_once(&self) -> Option<usize> {
        match (&self.devices, &self.read_ahead) {
            (Some(_), _) => Some(DeviceSearch::MOST_QUERIES),
            (None, Some(_)) => Some(QUERIES_OF_A_PASS),
            (None, None) => None,
        }
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
