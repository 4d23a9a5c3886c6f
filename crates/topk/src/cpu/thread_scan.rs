//! One thread's share of the scan: blocks of vectors against all queries.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use toller_ir::DocOrd;
use toller_simd::product::Bytes;
use toller_simd::tile::AlignedBuffer;
use toller_simd::{Isa, Kernel, Simd, dispatch_on};

use super::blocks::{Block, Blocks};
use super::collect::Collector;
use super::passes::{Choice, Pass, Passes};
use super::prefetch::NextBlock;
use super::queries::QueryGroup;
use super::rows::{gathered, halved, widened};
use super::{codes, floats};
use crate::options::IpTopkOptions;

/// Bytes that are announced to the system before they are scanned.
const READ_AHEAD_BYTES: usize = 32 << 20;

/// A scan of blocks for a group of queries.
pub(crate) struct BlockScan<'a> {
    group: QueryGroup<'a>,
    passes: &'a Passes,
    options: &'a IpTopkOptions<'a>,
    blocks: &'a Blocks<'a>,
    /// The turns of the blocks that are scanned.
    turns: Range<usize>,
    /// The next turn, shared by all threads.
    taken: AtomicUsize,
}

/// The scan of one thread: takes blocks until there are none left, and collects what matters to the queries.
struct ThreadScan<'a, C> {
    scan: &'a BlockScan<'a>,
    collector: C,
}

/// Memory that is kept from block to block.
#[derive(Default)]
struct States {
    /// Vectors widened to f32.
    wide: AlignedBuffer,
    /// The vectors of a block that the filter allows, where it allows few.
    chosen: Vec<DocOrd>,
    floats: floats::State,
    codes: codes::State,
}

impl<C: Collector> Kernel for ThreadScan<'_, C> {
    type Output = C::Output;
    type Product = Bytes;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> C::Output {
        let Self { scan, mut collector } = self;
        let mut states = States::default();
        let mut choice = Choice::new(scan.passes);
        let mut upcoming = scan.take(choice.pass());
        while let Some(block) = upcoming {
            let pass = choice.pass();
            upcoming = scan.take(pass);
            let started = Instant::now();
            let rows = block.rows.len();
            scan.scan(simd, &block, upcoming.as_ref(), pass, &mut states, &mut collector);
            choice.took(started.elapsed(), rows);
        }
        collector.finish(simd)
    }
}

impl<'a> BlockScan<'a> {
    /// A scan of the blocks whose turns are `turns`.
    pub(crate) fn new(
        group: QueryGroup<'a>,
        passes: &'a Passes,
        options: &'a IpTopkOptions<'a>,
        blocks: &'a Blocks<'a>,
        turns: Range<usize>,
    ) -> Self {
        let taken = AtomicUsize::new(turns.start);
        Self { group, passes, options, blocks, turns, taken }
    }

    /// Scans on all threads, each with a collector of its own; returns what each has collected.
    pub(crate) fn run<C: Collector<Output: Send>>(
        &self,
        isa: Isa,
        collector: impl Fn() -> C + Sync,
    ) -> Vec<C::Output> {
        let threads = rayon::current_num_threads().min(self.turns.len());
        let scan = |_| dispatch_on(isa, ThreadScan { scan: self, collector: collector() });
        (0..threads).into_par_iter().with_max_len(1).map(scan).collect()
    }

    /// The next block with a vector that the filter allows.
    fn take(&self, pass: &Pass) -> Option<Block<'a>> {
        loop {
            // Relaxed: each block is taken once, and all else is shared before the threads start.
            let turn = self.taken.fetch_add(1, Ordering::Relaxed);
            let block = self.at(turn)?;
            self.read_ahead(turn, pass);
            let allowed = self.group.filter.allowed;
            if allowed.is_none_or(|allowed| allowed.within(ordinals(&block)).next().is_some()) {
                return Some(block);
            }
        }
    }

    fn at(&self, turn: usize) -> Option<Block<'a>> {
        if turn < self.turns.end { self.blocks.at(turn) } else { None }
    }

    /// Announces the block that will be taken some turns from now; at the first turn, also all before it.
    fn read_ahead(&self, turn: usize, pass: &Pass) {
        let Some(read_ahead) = self.options.read_ahead else { return };
        let announce = |turn| {
            if let Some(block) = self.at(turn) {
                read_ahead(self.bytes_of(&block, pass));
            }
        };
        let distance = self.blocks.in_bytes(READ_AHEAD_BYTES);
        if turn == self.turns.start {
            (turn + 1..turn + distance).for_each(announce);
        }
        announce(turn + distance);
    }

    /// The bytes that a pass reads of a block.
    fn bytes_of(&self, block: &Block<'a>, pass: &Pass) -> &'a [u8] {
        let dim = self.group.collection.dim();
        match (pass, block.codes) {
            (Pass::Int8(_), Some(codes)) => bytemuck::cast_slice(codes.values),
            _ => block.vectors.bytes(numbers_of(block, dim)),
        }
    }

    /// Collects among the vectors of `block`, while those of `upcoming` are prefetched.
    #[inline(always)]
    fn scan<S: Simd, C: Collector>(
        &self,
        simd: S,
        block: &Block<'a>,
        upcoming: Option<&Block<'a>>,
        pass: &Pass,
        states: &mut States,
        collector: &mut C,
    ) {
        let States { wide, chosen, floats, codes } = states;
        let dim = self.group.collection.dim();
        chosen.clear();
        if let Some(allowed) = self.group.filter.allowed
            && !matches!(pass, Pass::F16(_))
        {
            chosen.extend(allowed.within(ordinals(block)));
            if chosen.len() * 2 > block.rows.len() {
                chosen.clear();
            }
        }
        collector.begin(block.first, chosen);
        let next = |depth| {
            let of_block =
                |next: &Block<'a>| NextBlock::new(self.bytes_of(next, pass), next.rows.len(), depth);
            upcoming.map_or(NextBlock::NONE, of_block)
        };
        match pass {
            Pass::F32(queries) => {
                let rows = in_f32(simd, block, chosen, dim, wide);
                floats::scan(simd, queries, rows, next(dim), floats, collector);
            }
            Pass::F16(queries) => {
                let rows = halved(simd, block.vectors, numbers_of(block, dim), wide);
                floats::scan(simd, queries, rows, next(dim), floats, collector);
            }
            Pass::Int8(queries) => {
                let source = match block.codes {
                    Some(codes) if chosen.is_empty() => codes::Source::Stored(codes),
                    _ => codes::Source::Numbers(in_f32(simd, block, chosen, dim, wide)),
                };
                codes::scan(simd, queries, source, next(queries.depth()), codes, collector);
            }
        }
    }
}

/// The vectors of a block in f32: those in `chosen`, or all if that is empty.
#[inline(always)]
fn in_f32<'a, S: Simd>(
    simd: S,
    block: &Block<'a>,
    chosen: &[DocOrd],
    dim: usize,
    buffer: &'a mut AlignedBuffer,
) -> &'a [f32] {
    if chosen.is_empty() {
        return widened(simd, block.vectors, numbers_of(block, dim), buffer);
    }
    let rows = chosen.iter().map(|doc| block.rows.start + doc.index() - block.first.index());
    gathered(simd, block.vectors, dim, rows, buffer)
}

/// The numbers of a block, counted in its segment.
fn numbers_of(block: &Block<'_>, dim: usize) -> Range<usize> {
    block.rows.start * dim..block.rows.end * dim
}

/// The ordinals of a block.
fn ordinals(block: &Block<'_>) -> Range<usize> {
    block.first.index()..block.first.index() + block.rows.len()
}
