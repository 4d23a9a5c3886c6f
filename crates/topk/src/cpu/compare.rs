//! Compares the sums of a pass with the thresholds of the queries, while they are in registers.

use toller_simd::product::{Product, Sums};
use toller_simd::tile::{self, Epilogue, PANEL, Rows};
use toller_simd::word::Word;
use toller_simd::{LANES, Simd};

use super::collect::Collector;
use super::packed_queries::{FEW, FewQueries, PackedQueries};
use super::prefetch::NextBlock;

/// A word that a pass multiplies.
type Value<B> = <<B as Bounds>::Product as Product>::Value;
/// A sum of a pass.
type Sum<B> = <<B as Bounds>::Product as Product>::Sum;

/// What the sums of a pass say about the scores of one block's rows.
pub(crate) trait Bounds {
    /// What the pass multiplies.
    type Product: Product;

    /// The corrected sums of a row with sixteen queries, and the values to compare with their cutoffs.
    ///
    /// # Safety
    /// `row` is a row of the block.
    unsafe fn comparable<S: Simd>(
        &self,
        simd: S,
        row: usize,
        sums: Sums<Self::Product, S>,
    ) -> (Sums<Self::Product, S>, S::F32);

    /// As [`Bounds::comparable`], for the sum of a row with one query.
    fn comparable_sum(&self, row: usize, sum: Sum<Self>) -> (Sum<Self>, f32);

    /// Writes the cutoffs of the queries from `first` on: a row whose score reaches a query's threshold has a
    /// comparable value that is not below the query's cutoff.
    fn write_cutoffs(&self, first: usize, thresholds: &[f32], cutoffs: &mut [f32]);

    /// The bounds of the rounded score of a row and a query with this corrected sum.
    fn interval(&self, query: usize, row: usize, sum: Sum<Self>) -> (f32, f32);
}

/// The cutoffs of a block, in memory that is kept from block to block.
#[derive(Default)]
pub(crate) struct Cutoffs {
    /// Per query, its threshold among all threads, read once a block.
    thresholds: Vec<f32>,
    /// Per query; padded to whole panels.
    cutoffs: Vec<f32>,
}

/// Multiplies `rows` with `queries` and collects the rows that may reach a threshold.
#[inline(always)]
pub(crate) fn scan<S: Simd, B: Bounds, C: Collector>(
    simd: S,
    queries: &PackedQueries<Value<B>>,
    rows: Rows<'_, Value<B>>,
    bounds: B,
    next: NextBlock,
    cutoffs: &mut Cutoffs,
    collector: &mut C,
) {
    let count = queries.count();
    let Cutoffs { thresholds, cutoffs } = cutoffs;
    thresholds.clear();
    thresholds.extend((0..count).map(|query| collector.threshold(query)));
    cutoffs.resize(count.next_multiple_of(PANEL), f32::INFINITY);
    bounds.write_cutoffs(0, thresholds, &mut cutoffs[..count]);
    let mut compare = Compare { bounds, cutoffs, next, collector };
    match (queries.few(), count) {
        (Some(few), 1) => compare.scan_few::<S, 1>(simd, few, rows),
        (Some(few), 2) => compare.scan_few::<S, 2>(simd, few, rows),
        (Some(few), 3) => compare.scan_few::<S, 3>(simd, few, rows),
        (Some(few), _) => compare.scan_few::<S, FEW>(simd, few, rows),
        (None, _) => tile::multiply(simd, rows, queries.panels(), count, &mut compare),
    }
}

/// The epilogue of a pass.
struct Compare<'a, B, C> {
    bounds: B,
    cutoffs: &'a mut [f32],
    next: NextBlock,
    collector: &'a mut C,
}

impl<B: Bounds, C: Collector> Epilogue for Compare<'_, B, C> {
    type Product = B::Product;

    #[inline(always)]
    unsafe fn store<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        count: usize,
        sums: Sums<B::Product, S>,
    ) {
        // SAFETY: `row` is a row of the block; `column` begins half a panel, and cutoffs fill panels.
        let ((sums, values), cutoffs) = unsafe {
            (self.bounds.comparable(simd, row, sums), simd.load(self.cutoffs.as_ptr().add(column)))
        };
        // Not `>=`: what overflowed to NaN is collected.
        let reached = u32::from(simd.not_less(values, cutoffs)) & ((1 << count) - 1);
        if reached != 0 {
            self.collect_lanes(simd, row, column, reached, &Word::to_array(simd, sums));
        }
    }

    #[inline(always)]
    fn at(&self, row: usize, rows: usize, value: usize) {
        self.next.prefetch(row, rows, value);
    }
}

impl<B: Bounds, C: Collector> Compare<'_, B, C> {
    /// Multiplies each row with each of the `QUERIES` queries.
    #[inline(always)]
    fn scan_few<S: Simd, const QUERIES: usize>(
        &mut self,
        simd: S,
        queries: &FewQueries<Value<B>>,
        rows: Rows<'_, Value<B>>,
    ) {
        for row in 0..rows.count() {
            let sums = queries.sums::<S, B::Product, QUERIES>(simd, rows.row(row), row, self.next);
            for (query, sums) in sums.into_iter().enumerate() {
                let (sum, value) = self.bounds.comparable_sum(row, Word::sum(simd, sums));
                // Not `>=`: what overflowed to NaN is collected.
                let is_below = value < self.cutoffs[query];
                if !is_below {
                    self.collect(simd, row, query, sum);
                }
            }
        }
    }

    /// Collects the row for the queries whose bits are set in `reached`.
    #[cold]
    #[inline(never)]
    fn collect_lanes<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        mut reached: u32,
        sums: &[Sum<B>; LANES],
    ) {
        while reached != 0 {
            let lane = reached.trailing_zeros() as usize;
            self.collect(simd, row, column + lane, sums[lane]);
            reached &= reached - 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn collect<S: Simd>(&mut self, simd: S, row: usize, query: usize, sum: Sum<B>) {
        let (lower, upper) = self.bounds.interval(query, row, sum);
        if upper < self.collector.threshold(query) {
            return;
        }
        if self.collector.collect(simd, row, query, (lower, upper)) {
            let threshold = [self.collector.threshold(query)];
            self.bounds.write_cutoffs(query, &threshold, &mut self.cutoffs[query..=query]);
        }
    }
}
