//! One thread's share of the fast pass: blocks of vectors against all queries, survivors into buffers.

use std::sync::atomic::{AtomicUsize, Ordering};

use toller_ir::{DocOrd, Hit};

use super::blocks::Blocks;
use super::bounds::{self, ErrorBound};
use super::candidates::{Candidate, Candidates, capacity};
use super::rescore::{Pair, Scores};
use super::rows::{inner_products, largest_square, widened};
use super::thresholds::Thresholds;
use crate::Collection;
use crate::cpu::product::Numbers;
use crate::cpu::tile::{self, AlignedBuffer, Epilogue, PANEL, Packed, Rows};
use crate::simd::{Kernel, LANES, Simd};

/// Up to so many queries, a row is multiplied with each query on its own; beyond, a register tile is
/// filled. See benches/results/ip_topk.md.
pub(crate) const FEW: usize = 3;

/// Queries that are searched in one pass.
pub(crate) struct Group<'a> {
    /// `[count, dim]`.
    pub(crate) queries: &'a [f32],
    pub(crate) count: usize,
    pub(crate) k: usize,
    bounds: Vec<ErrorBound>,
    layout: Layout,
}

/// The queries as the products want them.
enum Layout {
    /// `[count, stride]`, padded with zeros.
    Rows {
        values: AlignedBuffer,
        stride: usize,
    },
    Panels(Packed),
}

impl<'a> Group<'a> {
    /// `queries` is `[count, dim]`.
    pub(crate) fn new(queries: &'a [f32], dim: usize, k: usize) -> Self {
        let count = queries.len() / dim;
        let layout = if count <= FEW {
            let stride = dim.next_multiple_of(LANES);
            let mut values = AlignedBuffer::zeros(count * stride);
            for (to, from) in values.as_mut_slice().chunks_exact_mut(stride).zip(queries.chunks_exact(dim)) {
                to[..dim].copy_from_slice(from);
            }
            Layout::Rows { values, stride }
        } else {
            Layout::Panels(Packed::new(queries, count, dim))
        };
        let bounds = queries.chunks_exact(dim).map(ErrorBound::new).collect();
        Self { queries, count, k, bounds, layout }
    }
}

/// The scan of one thread: takes blocks until there are none, and returns the candidates of each query.
pub(crate) struct Scan<'a> {
    pub(crate) collection: &'a Collection<'a>,
    pub(crate) group: &'a Group<'a>,
    pub(crate) blocks: &'a Blocks<'a>,
    /// How many blocks have been taken, by all threads.
    pub(crate) taken: &'a AtomicUsize,
    pub(crate) thresholds: &'a Thresholds,
}

impl Kernel for Scan<'_> {
    type Output = Vec<Candidates>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<Candidates> {
        let Self { collection, group, blocks, taken, thresholds } = self;
        let dim = collection.dim();
        let mut nominator = Nominator {
            collection,
            group,
            thresholds,
            first: DocOrd(0),
            cutoffs: vec![f32::NEG_INFINITY; group.count.next_multiple_of(PANEL)],
            errors: vec![f32::INFINITY; group.count],
            candidates: (0..group.count).map(|_| Candidates::default()).collect(),
        };
        let mut buffer = AlignedBuffer::default();
        // Relaxed: each block is taken once, and all else is shared before the threads start.
        while let Some(block) = blocks.at(taken.fetch_add(1, Ordering::Relaxed)) {
            let numbers = block.rows.start * dim..block.rows.end * dim;
            let rows = widened(simd, block.vectors, numbers, &mut buffer);
            // Also what brings the rows from memory to the cache, in a stream.
            nominator.begin(block.first, largest_square(simd, rows, dim));
            match &group.layout {
                Layout::Rows { values, stride } => {
                    let (queries, stride) = (values.as_slice(), *stride);
                    match group.count {
                        1 => multiply_few::<S, 1>(simd, rows, dim, queries, stride, &mut nominator),
                        2 => multiply_few::<S, 2>(simd, rows, dim, queries, stride, &mut nominator),
                        _ => multiply_few::<S, FEW>(simd, rows, dim, queries, stride, &mut nominator),
                    }
                }
                Layout::Panels(packed) => {
                    let rows = Rows::new(rows, dim, block.rows.len(), dim);
                    tile::multiply(simd, rows, packed.panels(), group.count, &mut nominator);
                }
            }
        }
        nominator.candidates
    }
}

/// Multiplies each row with each of `QUERIES` queries, `[QUERIES, stride]`.
#[inline(always)]
fn multiply_few<S: Simd, const QUERIES: usize>(
    simd: S,
    rows: &[f32],
    dim: usize,
    queries: &[f32],
    stride: usize,
    nominator: &mut Nominator<'_>,
) {
    for (row, values) in rows.chunks_exact(dim).enumerate() {
        let products = inner_products::<S, QUERIES>(simd, values, queries, stride);
        for (query, &product) in products.iter().enumerate() {
            nominator.offer(simd, row, query, product);
        }
    }
}

/// Compares scores of the pass with what can still be among the k best.
struct Nominator<'a> {
    collection: &'a Collection<'a>,
    group: &'a Group<'a>,
    thresholds: &'a Thresholds,
    /// The ordinal of the block's first row.
    first: DocOrd,
    /// Per query, for this block: the least score of the pass that nominates. Padded to whole panels.
    cutoffs: Vec<f32>,
    /// Per query, for this block: the error of the pass.
    errors: Vec<f32>,
    candidates: Vec<Candidates>,
}

impl Nominator<'_> {
    /// A new block, its first row's ordinal and its largest sum of squares.
    fn begin(&mut self, first: DocOrd, largest_square: f32) {
        self.first = first;
        let bounds = &self.group.bounds;
        for (query, (bound, error)) in bounds.iter().zip(&mut self.errors).enumerate() {
            *error = bound.error(largest_square);
            self.cutoffs[query] = bounds::cutoff(self.thresholds.get(query), *error);
        }
    }

    /// Nominates one score of the pass, if it reaches the cutoff.
    #[inline(always)]
    fn offer<S: Simd>(&mut self, simd: S, row: usize, query: usize, score: f32) {
        let below = score < self.cutoffs[query];
        // Not `>=`: what overflowed to NaN is nominated.
        if !below {
            self.nominate(simd, row, query, score);
        }
    }

    #[cold]
    #[inline(never)]
    fn nominate<S: Simd>(&mut self, simd: S, row: usize, query: usize, score: f32) {
        let (lower, upper) = bounds::interval(score, self.errors[query]);
        // Does not wrap: the ordinals of a collection fit in 32 bits.
        let doc = DocOrd(self.first.0 + row as u32);
        let candidates = &mut self.candidates[query];
        candidates.push(Candidate { lower, upper, doc });
        if candidates.len() >= capacity(self.group.k) {
            self.reduce(simd, query);
        }
    }

    /// Makes room among the candidates of a query and raises its threshold.
    fn reduce<S: Simd>(&mut self, simd: S, query: usize) {
        let k = self.group.k;
        let candidates = &mut self.candidates[query];
        let mut threshold = candidates.reduce(k, self.thresholds.get(query));
        if candidates.len() > capacity(k).midpoint(k) {
            // Too many scores lie closer together than the error: only the scores themselves decide.
            let mut pairs: Vec<Pair> =
                candidates.entries().iter().map(|candidate| Pair::new(candidate.doc, query)).collect();
            pairs.sort_unstable();
            let mut scores = vec![0.0; pairs.len()];
            let (collection, queries) = (self.collection, self.group.queries);
            simd.vectorize(Scores { collection, queries, pairs: &pairs, scores: &mut scores });
            let hits = pairs.iter().zip(scores).map(|(pair, score)| Hit::new(pair.doc(), score)).collect();
            threshold = threshold.max(candidates.replace(hits, k));
        }
        self.thresholds.raise(query, threshold);
        self.cutoffs[query] = bounds::cutoff(threshold, self.errors[query]);
    }
}

impl Epilogue for Nominator<'_> {
    type Product = Numbers;

    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, sums: S::F32) {
        // SAFETY: `column` begins sixteen columns of a panel, and the cutoffs fill whole panels.
        let cutoffs = unsafe { simd.load(self.cutoffs.as_ptr().add(column)) };
        let reached = u32::from(simd.not_less(sums, cutoffs)) & ((1 << count) - 1);
        if reached != 0 {
            self.nominate_lanes(simd, row, column, reached, &simd.to_array(sums));
        }
    }
}

impl Nominator<'_> {
    /// Nominates the lanes whose bits are set in `reached`.
    #[cold]
    #[inline(never)]
    fn nominate_lanes<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        mut reached: u32,
        scores: &[f32; LANES],
    ) {
        while reached != 0 {
            let lane = reached.trailing_zeros() as usize;
            self.nominate(simd, row, column + lane, scores[lane]);
            reached &= reached - 1;
        }
    }
}
