//! One thread's share of the scan: blocks of vectors against all queries.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use toller_ir::DocOrd;

use super::ahead::Ahead;
use super::blocks::{Block, Blocks};
use super::choice::{Choice, Pass};
use super::group::Group;
use super::nominate::{Nominated, Nominator};
use super::rows::{gathered, halved, widened};
use super::thresholds::Thresholds;
use super::{codes, numbers};
use crate::{IpTopkOptions, Scan as Precision};
use toller_simd::tile::AlignedBuffer;
use toller_simd::{Kernel, Simd};

/// Bytes that the system is told of before they are scanned.
const READ_AHEAD_BYTES: usize = 32 << 20;

/// Queries as each pass wants them, for the passes that may be used.
pub(crate) struct Prepared {
    pub(crate) numbers: Option<numbers::Queries>,
    pub(crate) halves: Option<numbers::Queries>,
    pub(crate) codes: Option<codes::Queries>,
}

impl Prepared {
    pub(crate) fn new(precision: Precision, queries: &[f32], dim: usize) -> Self {
        let int8 = dim <= crate::MAX_INT8_DIM;
        let wanted = |other| precision == other || precision == Precision::Auto;
        Self {
            numbers: wanted(Precision::F32).then(|| numbers::Queries::new(queries, dim)),
            halves: (precision == Precision::F16).then(|| numbers::Queries::halves(queries, dim)),
            codes: (wanted(Precision::Int8) && int8).then(|| codes::Queries::new(queries, dim)),
        }
    }
}

/// The scan of one thread: takes blocks until there are none, and returns the candidates of each query.
pub(crate) struct Scan<'a> {
    pub(crate) group: Group<'a>,
    pub(crate) k: usize,
    pub(crate) prepared: &'a Prepared,
    pub(crate) options: &'a IpTopkOptions<'a>,
    pub(crate) blocks: &'a Blocks<'a>,
    /// The turns of the blocks that are scanned.
    pub(crate) turns: Range<usize>,
    /// The next turn, of all threads.
    pub(crate) taken: &'a AtomicUsize,
    pub(crate) thresholds: &'a Thresholds,
}

/// What the passes remember from block to block.
#[derive(Default)]
struct States {
    /// Vectors widened to f32.
    wide: AlignedBuffer,
    /// Which vectors of a block the filter allows, where it leaves few.
    chosen: Vec<DocOrd>,
    numbers: numbers::State,
    codes: codes::State,
}

impl Kernel for Scan<'_> {
    type Output = Nominated;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Nominated {
        let mut nominator = Nominator::new(self.group, self.k, self.thresholds);
        let mut states = States::default();
        let mut choice = Choice::new(self.options.scan, self.prepared.codes.is_some());
        let mut upcoming = self.take(choice.pass());
        while let Some(block) = upcoming {
            let pass = choice.pass();
            upcoming = self.take(pass);
            let started = Instant::now();
            let rows = block.rows.len();
            self.scan(simd, &block, upcoming.as_ref(), pass, &mut states, &mut nominator);
            choice.took(started.elapsed(), rows);
        }
        nominator.finish()
    }
}

impl<'a> Scan<'a> {
    /// The next block that has any vector to look at.
    fn take(&self, pass: Pass) -> Option<Block<'a>> {
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

    /// Tells the system of the block that will be taken some turns from now; at first, of all up to it.
    fn read_ahead(&self, turn: usize, pass: Pass) {
        let Some(read_ahead) = self.options.read_ahead else { return };
        let tell = |turn| {
            if let Some(block) = self.at(turn) {
                read_ahead(self.bytes_of(&block, pass));
            }
        };
        let distance = self.blocks.in_bytes(READ_AHEAD_BYTES);
        if turn == self.turns.start {
            (turn + 1..turn + distance).for_each(tell);
        }
        tell(turn + distance);
    }

    /// What a pass reads of a block.
    fn bytes_of(&self, block: &Block<'a>, pass: Pass) -> &'a [u8] {
        let dim = self.group.collection.dim();
        match (pass, block.codes) {
            (Pass::Int8, Some(codes)) => bytemuck::cast_slice(codes.values),
            _ => block.vectors.bytes(numbers_of(block, dim)),
        }
    }

    /// Nominates among the vectors of `block`, while those of `upcoming` come to the cache.
    #[inline(always)]
    fn scan<S: Simd>(
        &self,
        simd: S,
        block: &Block<'a>,
        upcoming: Option<&Block<'a>>,
        pass: Pass,
        states: &mut States,
        nominator: &mut Nominator<'a>,
    ) {
        let States { wide, chosen, numbers, codes } = states;
        let Prepared { numbers: in_f32, halves, codes: in_codes } = self.prepared;
        let dim = self.group.collection.dim();
        let (vectors, range) = (block.vectors, numbers_of(block, dim));
        chosen.clear();
        if let Some(allowed) = self.group.filter.allowed
            && pass != Pass::F16
        {
            chosen.extend(allowed.within(ordinals(block)));
            if chosen.len() * 2 > block.rows.len() {
                chosen.clear();
            }
        }
        nominator.begin(block.first, chosen);
        let ahead = |depth| {
            upcoming.map_or(Ahead::NONE, |next| Ahead::new(self.bytes_of(next, pass), next.rows.len(), depth))
        };
        let row = |doc: &DocOrd| block.rows.start + doc.index() - block.first.index();
        match (pass, in_f32, halves, in_codes) {
            (Pass::Int8, _, _, Some(queries)) => {
                let source = match block.codes {
                    Some(codes) if chosen.is_empty() => codes::Source::Stored(codes),
                    _ if chosen.is_empty() => codes::Source::Numbers(widened(simd, vectors, range, wide)),
                    _ => codes::Source::Numbers(gathered(simd, vectors, dim, chosen.iter().map(row), wide)),
                };
                codes::scan(simd, queries, source, ahead(queries.depth()), codes, nominator);
            }
            (Pass::F16, _, Some(queries), _) => {
                let rows = halved(simd, vectors, range, wide);
                numbers::scan(simd, queries, rows, ahead(dim), numbers, nominator);
            }
            (_, Some(queries), ..) => {
                let rows = if chosen.is_empty() {
                    widened(simd, vectors, range, wide)
                } else {
                    gathered(simd, vectors, dim, chosen.iter().map(row), wide)
                };
                numbers::scan(simd, queries, rows, ahead(dim), numbers, nominator);
            }
            _ => unreachable!("a pass whose queries were not prepared"),
        }
    }
}

/// The numbers of a block, counted in its segment.
fn numbers_of(block: &Block<'_>, dim: usize) -> Range<usize> {
    block.rows.start * dim..block.rows.end * dim
}

/// The ordinals of a block.
fn ordinals(block: &Block<'_>) -> Range<usize> {
    block.first.index()..block.first.index() + block.rows.len()
}
