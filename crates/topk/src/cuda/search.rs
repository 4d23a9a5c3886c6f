//! A collection on devices, ready to be searched.

use std::sync::mpsc;
use std::{iter, thread};

use toller_gpu::{DeviceError, Devices};
use toller_ir::Hit;

use super::plan::{DevicePlan, RowBytes, shares};
use super::shard::Shard;
use super::sizes::MOST_QUERIES;
use super::threads::{for_each_row, join, threads_for};
use crate::collection::Collection;
use crate::error::IpTopkError;
use crate::options::{IpTopkOptions, Scan};
use crate::top_k::TopK;

/// Exact search by inner product on devices: a share of the vectors on each, equal shares if all have room.
///
/// [`Scan::Int8`] scans codes: those of the store, or codes that are made when the vectors are copied. Every
/// other scan reads the numbers as they are stored, and multiplies f32 in TF32; so does this one on a device
/// whose memory does not hold its vectors and their codes. The hits equal those of [`crate::ip_topk`], bit by
/// bit.
#[derive(Debug)]
pub struct DeviceSearch {
    shards: Vec<Shard>,
    dim: usize,
    rows: usize,
    scan: Scan,
}

impl DeviceSearch {
    /// The most queries that are searched in one pass over the vectors.
    pub const MOST_QUERIES: usize = MOST_QUERIES;

    /// Plans, and copies as many vectors to the devices as fit their memory, to all at the same time. Calls
    /// `progress` with the number of bytes of the collection that were just read.
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
        let threads = rayon::current_num_threads().div_ceil(devices.iter().len());
        let free: Vec<u64> =
            devices.iter().map(|device| device.available_bytes()).collect::<Result<_, _>>()?;
        let row = RowBytes::widest(collection, 0..rows, coded);
        let mut end = 0;
        let shares = shares(&free, rows as u64, row).into_iter().map(|share| {
            let first = end;
            end += share as usize;
            first..end
        });
        let (report, reports) = mpsc::channel();
        let shards = thread::scope(|scope| {
            let start = |((device, rows), free)| {
                let report = report.clone();
                scope.spawn(move || {
                    let progress = |bytes| {
                        // The receiver is there until all senders are gone.
                        let _ = report.send(bytes);
                    };
                    Shard::new(device, free, collection, rows, coded, threads, &progress)
                })
            };
            let running = devices.iter().zip(shares).zip(free).map(start).collect();
            drop(report);
            reports.iter().for_each(progress);
            join(running).collect::<Result<_, DeviceError>>()
        })?;
        Ok(Self { shards, dim, rows, scan })
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
    /// vectors that did not fit the devices are read from it again. The scan is the one that was given there.
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
        options: &IpTopkOptions<'_>,
    ) -> Result<TopK, IpTopkError> {
        assert_eq!(
            (collection.dim(), collection.rows()),
            (self.dim, self.rows),
            "the collection that was copied"
        );
        collection.check_search(queries, k, &options.filter)?;
        // Asked for here: on threads that are not rayon's, it would be that of the global pool.
        let threads = rayon::current_num_threads();
        if let [shard] = &self.shards[..] {
            return Ok(shard.search(collection, queries, k, options, threads)?);
        }
        let of_each = threads.div_ceil(self.shards.len());
        let mut of_shards: Vec<TopK> = thread::scope(|scope| {
            let search =
                |shard| scope.spawn(move || Shard::search(shard, collection, queries, k, options, of_each));
            join(self.shards.iter().map(search).collect()).collect::<Result<_, DeviceError>>()
        })?;
        let Some(mut found) = of_shards.pop() else { return Ok(TopK::default()) };
        for others in &of_shards {
            found.nominated.iter_mut().zip(&others.nominated).for_each(|(sum, nominated)| *sum += nominated);
        }
        let hits = found.rankings.len() * k.min(self.rows) * of_shards.len();
        for_each_row(&mut found.rankings, 1, threads_for(hits, threads), |query, found| {
            for others in &of_shards {
                found[0].hits = merged(&found[0].hits, &others.rankings[query].hits, k);
            }
        });
        Ok(found)
    }
}

/// The best `k` of two lists in order.
fn merged(hits: &[Hit], others: &[Hit], k: usize) -> Vec<Hit> {
    let (mut hits, mut others) = (hits.iter().peekable(), others.iter().peekable());
    let best = || match (hits.peek(), others.peek()) {
        (Some(hit), Some(other)) if other < hit => others.next(),
        (Some(_), _) => hits.next(),
        (None, _) => others.next(),
    };
    iter::from_fn(best).take(k).copied().collect()
}

#[cfg(test)]
mod tests {
    use toller_ir::{DocOrd, Hit};

    use super::merged;

    #[test]
    fn merged_lists_are_those_that_sorting_makes() {
        // Scores repeat, and zeros have both signs.
        let hit = |doc: u32| Hit::new(DocOrd(doc), [2.0, 0.0, 1.0, -0.0, 2.0][doc as usize % 5]);
        let list = |docs: std::ops::Range<u32>| {
            let mut hits: Vec<Hit> = docs.map(hit).collect();
            hits.sort_unstable();
            hits
        };
        for (one, other) in [(0..0, 0..0), (0..3, 0..0), (0..0, 4..9), (0..13, 13..20), (20..37, 3..11)] {
            let mut all = [list(one.clone()), list(other.clone())].concat();
            all.sort_unstable();
            for k in [0, 1, 5, 12, usize::MAX] {
                let docs = |hits: &[Hit]| hits.iter().map(|hit| hit.doc).collect::<Vec<_>>();
                let expected = &all[..k.min(all.len())];
                let found = merged(&list(one.clone()), &list(other.clone()), k);
                assert_eq!(docs(&found), docs(expected), "{one:?} and {other:?}, k {k}");
            }
        }
    }
}
