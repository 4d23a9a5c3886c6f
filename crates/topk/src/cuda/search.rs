//! A collection on devices, ready to be searched.

use std::thread;

use toller_gpu::{DeviceError, Devices};
use toller_ir::{Filter, Ranking};

use super::layout::share;
use super::plan::DevicePlan;
use super::shard::Shard;
use crate::collection::Collection;
use crate::error::IpTopkError;
use crate::options::Scan;
use crate::top_k::TopK;

/// Exact search by inner product on devices: a share of the vectors on each.
///
/// [`Scan::Int8`] scans codes: those of the store, or codes that are made when the vectors are copied. Every
/// other scan reads the numbers as they are stored, and multiplies f32 in TF32. The hits equal those of
/// [`crate::ip_topk`], bit by bit.
#[derive(Debug)]
pub struct DeviceSearch {
    shards: Vec<Shard>,
    dim: usize,
    rows: usize,
    scan: Scan,
}

impl DeviceSearch {
    /// Plans, and copies as many vectors to the devices as fit their memory. Calls `progress` with the number
    /// of bytes of the collection that were just read.
    ///
    /// # Errors
    /// [`IpTopkError::DimTooLarge`] for [`Scan::Int8`], and [`IpTopkError::Device`].
    pub fn new(
        devices: &Devices,
        collection: &Collection<'_>,
        scan: Scan,
        progress: &dyn Fn(u64),
    ) -> Result<Self, IpTopkError> {
        let (dim, rows) = (collection.dim(), collection.rows());
        scan.check_dim(dim)?;
        let coded = scan == Scan::Int8;
        let shards = devices.iter().enumerate().map(|(number, device)| {
            Shard::new(device, collection, share(rows, number, devices.iter().len()), coded, progress)
        });
        Ok(Self { shards: shards.collect::<Result<_, _>>()?, dim, rows, scan })
    }

    /// How the memory of each device is divided.
    pub fn plans(&self) -> impl Iterator<Item = &DevicePlan> {
        self.shards.iter().map(Shard::plan)
    }

    /// How the vectors are scanned.
    #[must_use]
    pub fn scan(&self) -> Scan {
        self.scan
    }

    /// The `k` vectors of the largest inner product with each query, as [`crate::ip_topk`] finds them.
    /// `queries` is `[queries, dim]`. `collection` is the one that was given to [`DeviceSearch::new`]:
    /// vectors that did not fit the devices are read from it again.
    ///
    /// # Errors
    /// As for [`crate::ip_topk`], and [`IpTopkError::Device`].
    ///
    /// # Panics
    /// When `collection` has other sizes.
    pub fn search(
        &self,
        collection: &Collection<'_>,
        queries: &[f32],
        k: usize,
        filter: &Filter<'_>,
    ) -> Result<TopK, IpTopkError> {
        assert_eq!(
            (collection.dim(), collection.rows()),
            (self.dim, self.rows),
            "the collection that was copied"
        );
        collection.check_search(queries, k, filter)?;
        if let [shard] = &self.shards[..] {
            return Ok(shard.search(collection, queries, k, filter)?);
        }
        let of_shards: Vec<Result<TopK, DeviceError>> = thread::scope(|scope| {
            let search = |shard| scope.spawn(move || Shard::search(shard, collection, queries, k, filter));
            let running: Vec<_> = self.shards.iter().map(search).collect();
            let done = running.into_iter().map(thread::ScopedJoinHandle::join);
            done.map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        let mut found = TopK {
            rankings: vec![Ranking::default(); queries.len() / self.dim],
            nominated: vec![0; queries.len() / self.dim],
        };
        for of_shard in of_shards {
            let of_shard = of_shard?;
            for (merged, ranking) in found.rankings.iter_mut().zip(of_shard.rankings) {
                merged.hits.extend(ranking.hits);
            }
            found.nominated.iter_mut().zip(of_shard.nominated).for_each(|(sum, nominated)| *sum += nominated);
        }
        for Ranking { hits } in &mut found.rankings {
            hits.sort_unstable();
            hits.truncate(k);
        }
        Ok(found)
    }
}
