//! The passes in f32, and in f16 rounded to f32: the sums bound the scores by their rounding errors.

use toller_simd::Simd;
use toller_simd::product::Floats;
use toller_simd::tile::Rows;

use super::bounds::{self, ErrorBound};
use super::collect::Collector;
use super::compare::{self, Bounds, Cutoffs};
use super::packed_queries::PackedQueries;
use super::prefetch::NextBlock;
use super::rows::largest_square;

/// Queries in the form that these passes multiply.
pub(crate) struct Queries {
    packed: PackedQueries<f32>,
    bounds: Vec<ErrorBound>,
}

impl Queries {
    /// `queries` is `[count, dim]`.
    pub(crate) fn new(queries: &[f32], dim: usize) -> Self {
        let bounds = queries.chunks_exact(dim).map(ErrorBound::new).collect();
        Self { packed: PackedQueries::new(queries, dim), bounds }
    }

    /// `queries` rounded to f16, for rows that are rounded too.
    pub(crate) fn halves(queries: &[f32], dim: usize) -> Self {
        let rounded: Vec<f32> = queries.iter().map(|&x| half::f16::from_f32(x).to_f32()).collect();
        let bounds = queries.chunks_exact(dim).map(ErrorBound::halves).collect();
        Self { packed: PackedQueries::new(&rounded, dim), bounds }
    }
}

/// Memory that is kept from block to block.
#[derive(Default)]
pub(crate) struct State {
    /// Per query, the error of the pass in this block.
    errors: Vec<f32>,
    cutoffs: Cutoffs,
}

/// Collects among `rows` `[rows, dim]`.
#[inline(always)]
pub(crate) fn scan<S: Simd, C: Collector>(
    simd: S,
    queries: &Queries,
    rows: &[f32],
    next: NextBlock,
    state: &mut State,
    collector: &mut C,
) {
    let State { errors, cutoffs } = state;
    let dim = queries.packed.depth();
    let largest_square = largest_square(simd, rows, dim);
    errors.clear();
    errors.extend(queries.bounds.iter().map(|bound| bound.error(largest_square)));
    let rows = Rows::new(rows, dim, rows.len() / dim, dim);
    compare::scan(simd, &queries.packed, rows, Errors(errors), next, cutoffs, collector);
}

/// Per query, how far its sums in a block may be from the scores.
struct Errors<'a>(&'a [f32]);

impl Bounds for Errors<'_> {
    type Product = Floats;

    #[inline(always)]
    unsafe fn comparable<S: Simd>(&self, _: S, _: usize, sums: S::F32) -> (S::F32, S::F32) {
        (sums, sums)
    }

    #[inline(always)]
    fn comparable_sum(&self, _: usize, sum: f32) -> (f32, f32) {
        (sum, sum)
    }

    #[inline(always)]
    fn write_cutoffs(&self, first: usize, thresholds: &[f32], cutoffs: &mut [f32]) {
        for ((cutoff, &threshold), &error) in cutoffs.iter_mut().zip(thresholds).zip(&self.0[first..]) {
            *cutoff = bounds::cutoff(threshold, error);
        }
    }

    fn interval(&self, query: usize, _: usize, sum: f32) -> (f32, f32) {
        bounds::interval(sum, self.0[query])
    }
}
