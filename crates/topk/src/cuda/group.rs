//! Queries that are searched in one pass over a device's rows: their memory, and the launches of kernels.

use toller_gpu::{Address, Arena, DeviceError, Memory};
use toller_ir::{DocOrd, Hit, Ranking};

use super::abi::{self, BEST_IN_SHARED, Candidate, INCOMPLETE, KernelHit, QUERY_FACTS_BYTES, QueryPair};
use super::filters::{Allowed, Excluded};
use super::kernels::{DType, Kernels, Variant};
use super::layout::Slab;
use super::rows::Rows;
use super::schedule::Stripe;
use super::sizes::Sizes;
use super::threads::{for_each_row, threads_for};
use super::workspace::Workspace;

/// Queries in the form that the scan of a type multiplies.
struct Prepared {
    dtype: DType,
    rows: Memory<u8>,
    facts: Memory<u8>,
    pairs: Memory<QueryPair>,
    residual_ratio: Memory<f32>,
}

impl Prepared {
    fn new(arena: &mut Arena, dtype: DType, sizes: Sizes, variant: &Variant) -> Result<Self, DeviceError> {
        let residual_ratio = Memory::within(arena, 1)?;
        residual_ratio.fill(0)?;
        Ok(Self {
            dtype,
            rows: Memory::within(arena, sizes.queries * dtype.stride(sizes.dim))?,
            facts: Memory::within(arena, sizes.queries * QUERY_FACTS_BYTES)?,
            pairs: Memory::within(arena, variant.pairs(sizes.queries))?,
            residual_ratio,
        })
    }
}

/// What a `select` does besides raising the thresholds and dropping candidates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Also {
    /// If not 0: the depth at which it guesses what the k best will score.
    pub(super) depth: usize,
    /// Takes the last scan back.
    pub(super) undo: bool,
    /// Makes queries incomplete whose guess was too high.
    pub(super) verify: bool,
    /// Notes what the k best candidates are believed to score at least.
    pub(super) aim: bool,
}

/// Queries from which on the k best sums of codes are scored first.
const AIMING_QUERIES: usize = 16;

/// What a group found for a query, or `None` if its candidates are incomplete; and how many vectors were
/// nominated.
pub(crate) type Found = (Option<Ranking>, usize);

/// A group in the memory of a device. Its arrays are as large as its sizes say: `[queries, dim]` queries,
/// `[queries, capacity]` candidates, `[queries, k]` hits, and one threshold, guess and count per query.
pub(crate) struct Group<'a> {
    kernels: &'a Kernels,
    pub(super) workspace: &'a mut Workspace,
    pub(super) sizes: Sizes,
    /// How all its scans compute.
    pub(super) variant: &'static Variant,
    queries: Memory<f32>,
    prepared: Vec<Prepared>,
    thresholds: Memory<f32>,
    guesses: Memory<f32>,
    aims: Memory<f32>,
    pub(super) candidates: Memory<Candidate>,
    pub(super) counts: Memory<u32>,
    /// Per query, how many candidates have bounds: all, except between a scan and `select`.
    pub(super) bounded: Memory<u32>,
    hits: Memory<KernelHit>,
    /// Per query, how many hits it has; then per query, how many candidates were scored.
    outcome: Memory<u32>,
    scratch: Option<Memory<u64>>,
    allowed: &'a Allowed,
    excluded: Excluded,
    /// Rows that were searched safely, of all slabs.
    pub(super) seen: usize,
}

impl<'a> Group<'a> {
    /// A group without candidates, of the queries `numbers` of `queries`.
    pub(crate) fn new(
        kernels: &'a Kernels,
        workspace: &'a mut Workspace,
        sizes: Sizes,
        queries: &[f32],
        numbers: &[usize],
        allowed: &'a Allowed,
        excluded: Excluded,
    ) -> Result<Self, DeviceError> {
        let Sizes { queries: count, dim, k, capacity } = sizes;
        assert_eq!(numbers.len(), count, "queries of the group's sizes");
        // After a search that failed, kernels may still read the memory that `upload` is about to write.
        kernels.wait()?;
        let arena = workspace.arena(sizes)?;
        let scratch = (k > BEST_IN_SHARED as usize).then(|| Memory::within(arena, count * 2 * k));
        let mut group = Self {
            scratch: scratch.transpose()?,
            queries: Memory::within(arena, count * dim)?,
            prepared: Vec::new(),
            thresholds: Memory::within(arena, count)?,
            guesses: Memory::within(arena, count)?,
            aims: Memory::within(arena, count)?,
            candidates: Memory::within(arena, count * capacity)?,
            counts: Memory::within(arena, count)?,
            bounded: Memory::within(arena, count)?,
            hits: Memory::within(arena, count * k)?,
            outcome: Memory::within(arena, 2 * count)?,
            variant: kernels.variant(count),
            kernels,
            workspace,
            sizes,
            allowed,
            excluded,
            seen: 0,
        };
        group.start()?;
        group.upload(queries, numbers)?;
        Ok(group)
    }

    fn start(&self) -> Result<(), DeviceError> {
        let args = abi::Start {
            thresholds: self.thresholds.address(),
            guesses: self.guesses.address(),
            counts: self.counts.address(),
            bounded: self.bounded.address(),
            nominated: self.outcome.at(self.sizes.queries),
            query_count: self.sizes.queries as u32,
            reserved: 0,
        };
        // SAFETY: all arrays are `[queries]`, and the group keeps them.
        unsafe { self.kernels.start(args) }
    }

    /// Copies the queries `numbers` to the device, through pinned memory.
    fn upload(&mut self, queries: &[f32], numbers: &[usize]) -> Result<(), DeviceError> {
        let (dim, most_threads) = (self.sizes.dim, self.workspace.threads);
        let (pinned, together) = self.workspace.pinned(numbers.len(), dim * size_of::<f32>())?;
        for (part, numbers) in numbers.chunks(together).enumerate() {
            let rows: &mut [f32] = bytemuck::cast_slice_mut(pinned.bytes_mut()?);
            let rows = &mut rows[..numbers.len() * dim];
            let threads = threads_for(rows.len(), most_threads);
            for_each_row(rows, dim, threads, |row, values| {
                values.copy_from_slice(&queries[numbers[row] * dim..][..dim]);
            });
            // SAFETY: the memory has room for all queries. Kernels wait for the copies, and so does the next
            // use of the buffer.
            unsafe {
                pinned
                    .copy_to(self.queries.at(part * together * dim), numbers.len() * dim * size_of::<f32>())?
            };
        }
        pinned.precede_kernels()
    }

    /// The place in `prepared` of the queries for the scan of the slab, made when they are first needed.
    pub(super) fn prepare(&mut self, slab: &Slab, rows: &Rows) -> Result<usize, DeviceError> {
        let dtype = if rows.codes.is_some() { DType::Int8 } else { slab.dtype };
        if let Some(place) = self.prepared.iter().position(|prepared| prepared.dtype == dtype) {
            return Ok(place);
        }
        let prepared = Prepared::new(self.workspace.arena(self.sizes)?, dtype, self.sizes, self.variant)?;
        let args = abi::PrepareQueries {
            queries: self.queries.address(),
            prepared: prepared.rows.address(),
            facts: prepared.facts.address(),
            residual_ratio: prepared.residual_ratio.address(),
            query_count: self.sizes.queries as u32,
            dim: self.sizes.dim as u32,
            stride: dtype.stride(self.sizes.dim) as u32,
            reserved: 0,
        };
        // SAFETY: `prepared` was allocated for these sizes, and `queries` is `[queries, dim]`; both are kept.
        unsafe { self.kernels.prepare_queries(dtype, args)? };
        self.prepared.push(prepared);
        Ok(self.prepared.len() - 1)
    }

    /// Appends what may reach the thresholds and the guesses.
    pub(super) fn scan(
        &self,
        prepared: usize,
        slab: &Slab,
        rows: &Rows,
        chunk: &[Stripe],
    ) -> Result<(), DeviceError> {
        self.set_cutoffs(prepared)?;
        for stripe in chunk {
            let args = self.scan_args(prepared, slab, rows, stripe);
            // SAFETY: the stripe's run is within the slab, whose rows and norms (and codes) `rows` holds;
            // the queries were prepared for the type of the rows; candidates are `[queries, capacity]`.
            // `rows` and the group own the arrays, and giving them back waits for the queue.
            unsafe { self.kernels.scan(self.variant, self.prepared[prepared].dtype, args)? };
        }
        Ok(())
    }

    /// Writes what the next scan compares with.
    fn set_cutoffs(&self, prepared: usize) -> Result<(), DeviceError> {
        let args = abi::Cutoffs {
            facts: self.prepared[prepared].facts.address(),
            thresholds: self.thresholds.address(),
            guesses: self.guesses.address(),
            counts: self.counts.address(),
            pairs: self.prepared[prepared].pairs.address(),
            query_count: self.sizes.queries as u32,
            pair_count: self.variant.pairs(self.sizes.queries) as u32,
            capacity: self.sizes.capacity as u32,
            reserved: 0,
        };
        // SAFETY: facts, thresholds, guesses and counts are `[queries]`, and the pairs belong to as many
        // queries. All are kept.
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
            skips: stripe.skips.into(),
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

    /// Gives the candidates of the last scan their bounds, raises the thresholds, and drops what cannot reach
    /// them. The queries of the scan are at `prepared`.
    pub(super) fn select(&self, prepared: usize, also: Also) -> Result<(), DeviceError> {
        let args = abi::Select {
            candidates: self.candidates.address(),
            counts: self.counts.address(),
            bounded: self.bounded.address(),
            thresholds: self.thresholds.address(),
            guesses: self.guesses.address(),
            facts: self.prepared[prepared].facts.address(),
            aims: self.aims_if(also.aim),
            query_count: self.sizes.queries as u32,
            capacity: self.sizes.capacity as u32,
            k: self.sizes.k as u32,
            depth: also.depth as u32,
            undo: also.undo.into(),
            verify: also.verify.into(),
        };
        // SAFETY: `candidates` is `[queries, capacity]`; counts, thresholds, guesses, facts and aims are
        // `[queries]`. All are kept.
        unsafe { self.kernels.select(args) }
    }

    fn aims_if(&self, wanted: bool) -> Address {
        if wanted { self.aims.address() } else { Address::default() }
    }

    /// Whether the k best sums are scored first. The bounds of codes are wide: few of the other candidates
    /// can reach the k-th best of these scores. For few queries, the launches take longer than scoring all.
    pub(super) fn aims(&self, rows: &Rows) -> bool {
        rows.codes.is_some() && self.sizes.queries >= AIMING_QUERIES
    }

    /// Scores the candidates whose rows are in the slab. Those of earlier slabs are scored already. The
    /// queries of the scan are at `prepared`.
    pub(super) fn score(&self, prepared: usize, slab: &Slab, rows: &Rows) -> Result<(), DeviceError> {
        if self.aims(rows) {
            self.select(prepared, Also { aim: true, ..Also::default() })?;
        }
        self.score_aimed(prepared, slab, rows)
    }

    /// The same where the last `select` has noted what the k best are believed to score, if that is of use.
    pub(super) fn score_aimed(&self, prepared: usize, slab: &Slab, rows: &Rows) -> Result<(), DeviceError> {
        if self.aims(rows) {
            self.rescore(slab, rows, true)?;
            self.select(prepared, Also::default())?;
        }
        self.rescore(slab, rows, false)
    }

    /// Scores candidates, those that reach the aims or all.
    fn rescore(&self, slab: &Slab, rows: &Rows, aimed: bool) -> Result<(), DeviceError> {
        let Sizes { queries, dim, capacity, .. } = self.sizes;
        let stride = slab.dtype.stride(dim);
        for run in &slab.runs {
            let args = abi::Rescore {
                rows: rows.vectors.at(run.row * stride),
                queries: self.queries.address(),
                candidates: self.candidates.address(),
                counts: self.counts.address(),
                nominated: self.outcome.at(queries),
                aims: self.aims_if(aimed),
                row_count: run.rows as u32,
                first_ordinal: run.ordinal,
                query_count: queries as u32,
                dim: dim as u32,
                stride: stride as u32,
                capacity: capacity as u32,
            };
            // SAFETY: the run is within the slab, whose vectors `rows` holds in `slab.dtype`; `queries` is
            // `[queries, dim]`, `candidates` is `[queries, capacity]`, and both counts and the aims are
            // `[queries]`. `rows` and the group keep the arrays.
            unsafe { self.kernels.rescore(slab.dtype, args)? };
        }
        Ok(())
    }

    /// Waits until the device has finished with the rows that were searched.
    pub(crate) fn wait(&self) -> Result<(), DeviceError> {
        self.kernels.wait()
    }

    /// The k best of each query's candidates, and how many were scored. All candidates have their scores.
    pub(crate) fn best(&mut self) -> Result<Vec<Found>, DeviceError> {
        let Sizes { queries, k, capacity, .. } = self.sizes;
        let most_threads = self.workspace.threads;
        let args = abi::Best {
            candidates: self.candidates.address(),
            counts: self.counts.address(),
            hits: self.hits.address(),
            hit_counts: self.outcome.address(),
            scratch: self.scratch.as_ref().map_or_else(Default::default, Memory::address),
            query_count: queries as u32,
            capacity: capacity as u32,
            k: k as u32,
            reserved: 0,
        };
        // SAFETY: `candidates` is `[queries, capacity]`, `hits` is `[queries, k]`, both counts are
        // `[queries]`, and `scratch` is `[queries, 2, k]` where the kernel uses it. The group keeps them.
        unsafe { self.kernels.best(args)? };
        let (pinned, _) = self.workspace.pinned(2 * queries, size_of::<u32>())?;
        let outcome = pinned.read(&self.outcome, 0, 2 * queries)?.to_vec();
        let (hit_counts, nominated) = outcome.split_at(queries);
        let (pinned, together) = self.workspace.pinned(queries, k * size_of::<KernelHit>())?;
        let mut found = vec![(None, 0); queries];
        for (part, found) in found.chunks_mut(together).enumerate() {
            let first = part * together;
            let hits = pinned.read(&self.hits, first * k, found.len() * k)?;
            for_each_row(found, 1, threads_for(hits.len(), most_threads), |row, found| {
                let (count, nominated) = (hit_counts[first + row], nominated[first + row]);
                let hit = |hit: &KernelHit| Hit::new(DocOrd(hit.ordinal), hit.score);
                let hits = || hits[row * k..][..k].iter().take(count as usize).map(hit).collect();
                found[0] = ((count != INCOMPLETE).then(|| Ranking { hits: hits() }), nominated as usize);
            });
        }
        Ok(found)
    }
}
