//! Queries that are searched in one pass over a device's rows, from the first chunk to the hits.
//!
//! ```text
//! threshold[q] = -infinity; candidates[q] = {}
//! for each slab, for each chunk of its rows, ever larger:
//!     scan: append to candidates[q] what may reach threshold[q]
//!     if a buffer was too small:
//!         raise the thresholds by what the buffers hold, drop the chunk's candidates, scan it again in parts
//!         if earlier candidates take too much of a buffer: score them and keep k                 (make_room)
//!     raise the thresholds to the k-th best lower bound; drop the upper bounds below
//!     at the end of the slab: score the candidates
//! sort, keep k
//! ```
//!
//! A chunk is as large as the buffers are expected to allow, so that there are few chunks. It shrinks to the
//! number of rows that the fullest buffer has room for, at least one row: then no buffer can be too small. So
//! a search ends, whatever the rows.

use std::sync::Arc;

use toller_gpu::{Device, DeviceError, Memory};
use toller_ir::{DocOrd, Hit, Ranking};

use super::abi::{self, BEST_IN_SHARED, Candidate, KernelHit, QUERY_FACTS_BYTES, QueryPair};
use super::filters::{Allowed, Excluded};
use super::kernels::{DType, Kernels, query_pairs};
use super::layout::Slab;
use super::rows::Rows;
use super::schedule::{Schedule, Stripe};

/// The sizes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Queries.
    pub(crate) queries: usize,
    /// Numbers of a vector.
    pub(crate) dim: usize,
    /// Hits of a query; not more than there are rows.
    pub(crate) k: usize,
    /// Candidates that a query's buffer holds.
    pub(crate) capacity: usize,
}

/// The least candidates of a buffer, unless there are fewer rows.
const LEAST_CAPACITY: usize = 1024;
/// The candidates of a buffer beyond which a larger first chunk gains nothing. Not swept.
const GOOD_CAPACITY: usize = 16 << 10;
/// Queries from which on a group's chunks grow slowly.
const MANY_QUERIES: usize = 64;
/// The most queries of a group: enough that reading the rows again for the next group costs nothing.
const MOST_QUERIES: usize = 8192;

impl Sizes {
    /// The sizes of a group of up to `queries` queries over `rows` rows that fits in `bytes`, if any does.
    pub(crate) fn within(bytes: u64, queries: usize, rows: usize, k: usize, dim: usize) -> Option<Self> {
        let least = (2 * k + LEAST_CAPACITY).min(rows.max(1));
        let group = |queries, capacity| Self { queries, dim, k, capacity };
        let one = group(1, least).bytes();
        let queries = ((bytes / one) as usize).min(queries).min(MOST_QUERIES);
        if queries == 0 {
            return None;
        }
        let spare = (bytes - one * queries as u64) / queries as u64 / size_of::<Candidate>() as u64;
        let good = GOOD_CAPACITY.max(8 * k).min(rows.max(1));
        Some(group(queries, (least as u64 + spare).min(good as u64).max(least as u64) as usize))
    }

    /// Bytes of a group without its lists of excluded documents.
    pub(crate) fn bytes(&self) -> u64 {
        let Self { queries, dim, k, capacity } = *self;
        // Prepared queries of up to four types. Their pairs end with a tile: those of one query take as much
        // as those of eight, and no number of queries takes more for each.
        let pairs = query_pairs(1) * size_of::<QueryPair>();
        let of_types = 4 * (DType::F32.stride(dim) + QUERY_FACTS_BYTES + pairs);
        let vectors = dim * size_of::<f32>() + of_types;
        let hits = k * size_of::<KernelHit>()
            + if k > BEST_IN_SHARED as usize { 2 * k * size_of::<u64>() } else { 0 };
        let query = vectors + hits + capacity * size_of::<Candidate>() + 5 * size_of::<u32>();
        // Each array is rounded up to 256 bytes.
        query as u64 * queries as u64 + 20 * 256
    }

    /// How many times larger than the last chunk the next one may be. Small steps raise the thresholds
    /// sooner, which matters where nominations cost more than the waits between chunks: with many queries.
    fn growth(&self) -> usize {
        if self.queries < MANY_QUERIES { 64 } else { 4 }
    }

    /// How many rows the next chunk may have, after `seen` rows of which at most `held` are candidates of a
    /// query. As large a share of its rows is expected to be nominated, with a margin of 30%.
    fn fitting_rows(&self, seen: usize, held: usize) -> usize {
        let room = self.capacity - held;
        let expected = seen as f64 * room as f64 / (1.3 * held.max(1) as f64);
        (expected as usize).max(room)
    }
}

/// Queries in the form that the scan of a type multiplies.
struct Prepared {
    dtype: DType,
    rows: Memory<u8>,
    facts: Memory<u8>,
    pairs: Memory<QueryPair>,
    residual_ratio: Memory<f32>,
}

/// A group in the memory of a device. Its arrays are as large as its sizes say: `[queries, dim]` queries,
/// `[queries, capacity]` candidates, `[queries, k]` hits, and one threshold and count per query.
pub(crate) struct Group<'a> {
    device: &'a Arc<dyn Device>,
    kernels: &'a Kernels,
    sizes: Sizes,
    queries: Memory<f32>,
    prepared: Vec<Prepared>,
    thresholds: Memory<f32>,
    candidates: Memory<Candidate>,
    counts: Memory<u32>,
    /// Per query, how many candidates have bounds: all, except between a scan and `raise`.
    bounded: Memory<u32>,
    hits: Memory<KernelHit>,
    hit_counts: Memory<u32>,
    scratch: Option<Memory<u64>>,
    allowed: &'a Allowed,
    excluded: Excluded,
    /// Rows that were searched, of all slabs.
    seen: usize,
    /// How many candidates each query has, when the counts were last read.
    held: Vec<u32>,
    /// The most of them that can be scored.
    scored: Vec<u32>,
    /// Per query, how many candidates were scored.
    nominated: Vec<usize>,
}

impl<'a> Group<'a> {
    /// A group without candidates. `queries` is `[sizes.queries, sizes.dim]`.
    pub(crate) fn new(
        device: &'a Arc<dyn Device>,
        kernels: &'a Kernels,
        sizes: Sizes,
        queries: &[f32],
        allowed: &'a Allowed,
        excluded: Excluded,
    ) -> Result<Self, DeviceError> {
        let Sizes { queries: count, dim, k, capacity } = sizes;
        assert_eq!(queries.len(), count * dim, "queries of the group's sizes");
        let scratch = (k > BEST_IN_SHARED as usize).then(|| Memory::new(device, count * 2 * k));
        let thresholds = Memory::of(device, &vec![f32::NEG_INFINITY; count])?;
        Ok(Self {
            device,
            kernels,
            sizes,
            queries: Memory::of(device, queries)?,
            prepared: Vec::new(),
            thresholds,
            candidates: Memory::new(device, count * capacity)?,
            counts: Memory::filled(device, count, 0)?,
            bounded: Memory::filled(device, count, 0)?,
            hits: Memory::new(device, count * k)?,
            hit_counts: Memory::new(device, count)?,
            scratch: scratch.transpose()?,
            allowed,
            excluded,
            seen: 0,
            held: vec![0; count],
            scored: vec![0; count],
            nominated: vec![0; count],
        })
    }

    /// Searches a slab whose rows, with their norms, are on the device.
    pub(crate) fn search(&mut self, slab: &Slab, rows: &Rows) -> Result<(), DeviceError> {
        let dtype = if rows.codes.is_some() { DType::Int8 } else { slab.dtype };
        let prepared = self.prepare(dtype)?;
        let capacity = self.sizes.capacity;
        let mut schedule = Schedule::new(&slab.runs);
        let mut limit = self.fitting_rows();
        while let Some(chunk) = schedule.take(limit) {
            self.set_cutoffs(prepared)?;
            for stripe in &chunk {
                let args = self.scan_args(prepared, slab, rows, stripe);
                // SAFETY: the stripe's run is within the slab, whose rows and norms (and codes) `rows` holds;
                // the queries were prepared for `dtype`; candidates are `[queries, capacity]`. `rows` and the
                // group own the arrays, and giving them back waits for the queue.
                unsafe { self.kernels.scan(dtype, args)? };
            }
            let before = std::mem::replace(&mut self.held, self.counts.to_vec()?);
            if self.held.iter().all(|&count| count as usize <= capacity) {
                self.raise(prepared)?;
                self.prune(prepared)?;
                self.seen += chunk.iter().map(Stripe::rows).sum::<usize>();
                let most = limit.saturating_mul(self.sizes.growth()).max(self.room());
                limit = self.fitting_rows().min(most);
                continue;
            }
            self.raise(prepared)?;
            self.counts.write(0, &before)?;
            self.held = before;
            self.prune(prepared)?;
            schedule.give_back(chunk);
            if self.room() < capacity / 2 {
                self.make_room(prepared, slab, rows)?;
            }
            limit = (limit / 2).max(self.room());
        }
        self.rescore(slab, rows)?;
        self.raise(prepared)?;
        self.prune(prepared)?;
        self.scored.copy_from_slice(&self.held);
        Ok(())
    }

    /// The best of all rows that were searched, and how many candidates were scored for each query.
    pub(crate) fn finish(mut self) -> Result<(Vec<Ranking>, Vec<usize>), DeviceError> {
        let rankings = self.best()?.into_iter().map(|hits| Ranking { hits }).collect();
        Ok((rankings, self.nominated))
    }

    /// The place in `prepared` of the queries for the scan of `dtype`, made when they are first needed.
    fn prepare(&mut self, dtype: DType) -> Result<usize, DeviceError> {
        if let Some(place) = self.prepared.iter().position(|prepared| prepared.dtype == dtype) {
            return Ok(place);
        }
        let Sizes { queries, dim, .. } = self.sizes;
        let stride = dtype.stride(dim);
        let prepared = Prepared {
            dtype,
            rows: Memory::new(self.device, queries * stride)?,
            facts: Memory::new(self.device, queries * QUERY_FACTS_BYTES)?,
            pairs: Memory::new(self.device, query_pairs(queries))?,
            residual_ratio: Memory::filled(self.device, 1, 0)?,
        };
        let args = abi::PrepareQueries {
            queries: self.queries.address(),
            prepared: prepared.rows.address(),
            facts: prepared.facts.address(),
            residual_ratio: prepared.residual_ratio.address(),
            query_count: queries as u32,
            dim: dim as u32,
            stride: stride as u32,
            reserved: 0,
        };
        // SAFETY: `prepared` was allocated for these sizes, and `queries` is `[queries, dim]`; both are kept.
        unsafe { self.kernels.prepare_queries(dtype, args)? };
        self.prepared.push(prepared);
        Ok(self.prepared.len() - 1)
    }

    /// Writes what the next scan compares with.
    fn set_cutoffs(&self, prepared: usize) -> Result<(), DeviceError> {
        let args = abi::Cutoffs {
            facts: self.prepared[prepared].facts.address(),
            thresholds: self.thresholds.address(),
            pairs: self.prepared[prepared].pairs.address(),
            query_count: self.sizes.queries as u32,
            pair_count: query_pairs(self.sizes.queries) as u32,
        };
        // SAFETY: facts and thresholds are `[queries]`, and the pairs are those of as many queries. All are
        // kept.
        unsafe { self.kernels.cutoffs(args) }
    }

    fn scan_args(&self, prepared: usize, slab: &Slab, rows: &Rows, stripe: &Stripe) -> abi::Scan {
        let run = slab.runs[stripe.run];
        let prepared = &self.prepared[prepared];
        let dim = self.sizes.dim;
        let (allowed, allowed_words) = self.allowed.words();
        let (excluded, excluded_offsets) = self.excluded.lists();
        let common = abi::Scan {
            queries: prepared.rows.address(),
            row_norms: rows.norms.at(run.row),
            pairs: prepared.pairs.address(),
            allowed,
            excluded,
            excluded_offsets,
            candidates: self.candidates.address(),
            counts: self.counts.address(),
            allowed_words,
            row_count: run.rows as u32,
            first_ordinal: run.ordinal,
            query_count: self.sizes.queries as u32,
            stride: prepared.dtype.stride(dim) as u32,
            capacity: self.sizes.capacity as u32,
            first_tile: stripe.first as u32,
            tile_step: stripe.step as u32,
            tile_count: stripe.count as u32,
            ..abi::Scan::default()
        };
        match &rows.codes {
            None => abi::Scan { rows: rows.vectors.at(run.row * slab.dtype.stride(dim)), ..common },
            Some(codes) => abi::Scan {
                rows: codes.values.at(run.row * DType::Int8.stride(dim)),
                row_scales: codes.scales.at(run.row),
                row_residual_norms: codes.residual_norms.at(run.row),
                residual_ratio: prepared.residual_ratio.address(),
                ..common
            },
        }
    }

    fn select_args(&self, prepared: usize) -> abi::Select {
        abi::Select {
            candidates: self.candidates.address(),
            counts: self.counts.address(),
            bounded: self.bounded.address(),
            thresholds: self.thresholds.address(),
            facts: self.prepared[prepared].facts.address(),
            query_count: self.sizes.queries as u32,
            capacity: self.sizes.capacity as u32,
            k: self.sizes.k as u32,
            reserved: 0,
        }
    }

    /// Gives the candidates of the last scan their bounds, and raises the thresholds. The queries of the scan
    /// are at `prepared`.
    fn raise(&self, prepared: usize) -> Result<(), DeviceError> {
        // SAFETY: `candidates` is `[queries, capacity]`, counts, thresholds and facts are `[queries]`; all
        // are kept.
        unsafe { self.kernels.raise(self.select_args(prepared)) }
    }

    /// Drops candidates that cannot reach the thresholds and counts the others. No buffer has overflowed.
    fn prune(&mut self, prepared: usize) -> Result<(), DeviceError> {
        // SAFETY: `candidates` is `[queries, capacity]`, counts, thresholds and facts are `[queries]`; all
        // are kept.
        unsafe { self.kernels.prune(self.select_args(prepared))? };
        self.counts.read(0, &mut self.held)
    }

    /// The most candidates of a query.
    fn most_held(&self) -> usize {
        self.held.iter().max().map_or(0, |&count| count as usize)
    }

    /// How many more candidates every buffer has room for.
    fn room(&self) -> usize {
        self.sizes.capacity - self.most_held()
    }

    /// See [`Sizes::fitting_rows`].
    fn fitting_rows(&self) -> usize {
        self.sizes.fitting_rows(self.seen, self.most_held())
    }

    /// Scores the candidates whose rows are in the slab. Those of earlier slabs are scored already.
    fn rescore(&mut self, slab: &Slab, rows: &Rows) -> Result<(), DeviceError> {
        let Sizes { queries, dim, capacity, .. } = self.sizes;
        let stride = slab.dtype.stride(dim);
        let most = self.held.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Ok(());
        }
        for run in &slab.runs {
            let args = abi::Rescore {
                rows: rows.vectors.at(run.row * stride),
                queries: self.queries.address(),
                candidates: self.candidates.address(),
                counts: self.counts.address(),
                row_count: run.rows as u32,
                first_ordinal: run.ordinal,
                query_count: queries as u32,
                dim: dim as u32,
                stride: stride as u32,
                capacity: capacity as u32,
            };
            // SAFETY: the run is within the slab, whose vectors `rows` holds in `slab.dtype`; `queries` is
            // `[queries, dim]`, `candidates` is `[queries, capacity]`. `rows` and the group keep the arrays.
            unsafe { self.kernels.rescore(slab.dtype, most, args)? };
        }
        for (nominated, (&held, &scored)) in self.nominated.iter_mut().zip(self.held.iter().zip(&self.scored))
        {
            *nominated += held.saturating_sub(scored) as usize;
        }
        Ok(())
    }

    /// For scores that are equal, or closer together than their bounds are wide: scores the candidates, and
    /// if that does not leave enough room, keeps the k best of each query.
    fn make_room(&mut self, prepared: usize, slab: &Slab, rows: &Rows) -> Result<(), DeviceError> {
        self.rescore(slab, rows)?;
        self.raise(prepared)?;
        self.prune(prepared)?;
        if self.room() < self.sizes.capacity / 2 {
            let best = self.best()?;
            for (query, hits) in best.into_iter().enumerate() {
                let exact = |hit: Hit| Candidate { ordinal: hit.doc.0, lower: hit.score, upper: hit.score };
                let candidates: Vec<Candidate> = hits.into_iter().map(exact).collect();
                self.candidates.write(query * self.sizes.capacity, &candidates)?;
                self.held[query] = candidates.len() as u32;
            }
            self.counts.write(0, &self.held)?;
            self.bounded.write(0, &self.held)?;
        }
        self.scored.copy_from_slice(&self.held);
        Ok(())
    }

    /// The k best of each query's candidates, all of which are scored, in order.
    fn best(&mut self) -> Result<Vec<Vec<Hit>>, DeviceError> {
        let Sizes { queries, k, capacity, .. } = self.sizes;
        let args = abi::Best {
            candidates: self.candidates.address(),
            counts: self.counts.address(),
            hits: self.hits.address(),
            hit_counts: self.hit_counts.address(),
            scratch: self.scratch.as_ref().map_or_else(Default::default, Memory::address),
            query_count: queries as u32,
            capacity: capacity as u32,
            k: k as u32,
            reserved: 0,
        };
        // SAFETY: `candidates` is `[queries, capacity]`, `hits` is `[queries, k]`, both counts are
        // `[queries]`, and `scratch` is `[queries, 2, k]` where the kernel uses it. The group keeps them.
        unsafe { self.kernels.best(args)? };
        let (hits, counts) = (self.hits.to_vec()?, self.hit_counts.to_vec()?);
        let of_query = |(hits, count): (&[KernelHit], u32)| {
            let hits = hits.iter().take(count as usize);
            hits.map(|hit| Hit::new(DocOrd(hit.ordinal), hit.score)).collect()
        };
        Ok(hits.chunks_exact(k).zip(counts).map(of_query).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Sizes, query_pairs};

    #[test]
    fn groups_keep_within_their_memory_and_can_always_go_on() {
        for bytes in [100_000, 1 << 20, 1 << 30, 8_u64 << 30] {
            for (queries, rows, k, dim) in [
                (1, 10, 10, 8),
                (6980, 8_841_823, 1000, 768),
                (6980, 8_841_823, 100_000, 768),
                (3, 1_000_000, 1, 4096),
            ] {
                let Some(sizes) = Sizes::within(bytes, queries, rows, k, dim) else {
                    let one = Sizes { queries: 1, dim, k, capacity: (2 * k).min(rows) };
                    assert!(one.bytes() > bytes / 2, "{one:?}");
                    continue;
                };
                assert!(sizes.bytes() <= bytes, "{sizes:?}");
                assert!(sizes.capacity > sizes.k || sizes.capacity == rows, "{sizes:?}");
                assert!(sizes.queries == queries || sizes.queries * 2 > (bytes / sizes.bytes()) as usize);
                assert!(sizes.growth() >= 2);
            }
        }
    }

    #[test]
    fn pairs_take_no_more_than_is_planned() {
        for queries in [1, 2, 8, 9, 10, 63, 64, 65, 257, 6980, 8192] {
            let pairs = query_pairs(queries);
            assert!(2 * pairs >= queries && pairs <= query_pairs(1) * queries, "{queries}: {pairs}");
        }
    }

    #[test]
    fn chunks_are_as_large_as_buffers_allow() {
        let sizes = Sizes { queries: 6980, dim: 768, k: 1000, capacity: 16_384 };
        // Nothing is known yet; then 1,000 of 16,384 rows are held; or 3,500, as with wide bounds.
        assert_eq!(sizes.fitting_rows(0, 0), 16_384);
        let (narrow, wide) = (sizes.fitting_rows(16_384, 1000), sizes.fitting_rows(16_384, 3500));
        for (rows, held) in [(narrow, 1000), (wide, 3500)] {
            let nominated = rows * held / 16_384;
            assert!(held + nominated < sizes.capacity && held + nominated * 3 / 2 > sizes.capacity, "{rows}");
        }
        assert_eq!(sizes.fitting_rows(20_000, 16_384), 0);
    }
}
