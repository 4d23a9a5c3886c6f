//! The pass in f32: rows against all queries in register tiles, each sum compared in registers.

use super::ahead::Ahead;
use super::bounds::{self, ErrorBound};
use super::few::{FEW, FewQueries};
use super::nominate::Nominator;
use super::rows::largest_square;
use toller_simd::product::Numbers;
use toller_simd::tile::{self, Epilogue, PANEL, Packed, Rows};
use toller_simd::{LANES, Simd};

/// Queries as this pass wants them.
pub(crate) struct Queries {
    packed: Packed,
    few: Option<FewQueries<f32>>,
    bounds: Vec<ErrorBound>,
}

impl Queries {
    /// `queries` is `[count, dim]`.
    pub(crate) fn new(queries: &[f32], dim: usize) -> Self {
        Self::with_bounds(queries, dim, queries.chunks_exact(dim).map(ErrorBound::new).collect())
    }

    /// `queries` rounded to f16, for rows that are rounded too.
    pub(crate) fn halves(queries: &[f32], dim: usize) -> Self {
        let rounded: Vec<f32> = queries.iter().map(|&x| half::f16::from_f32(x).to_f32()).collect();
        Self::with_bounds(&rounded, dim, queries.chunks_exact(dim).map(ErrorBound::halves).collect())
    }

    fn with_bounds(queries: &[f32], dim: usize, bounds: Vec<ErrorBound>) -> Self {
        let packed = Packed::new(queries, queries.len() / dim, dim);
        Self { packed, few: FewQueries::new(queries, dim), bounds }
    }
}

/// What the pass remembers from block to block.
#[derive(Default)]
pub(crate) struct State {
    /// Per query, for this block: the least sum that nominates. Padded to whole panels.
    cutoffs: Vec<f32>,
    /// Per query, for this block: the error of the pass.
    errors: Vec<f32>,
}

/// Nominates among `rows` `[rows, dim]`.
#[inline(always)]
pub(crate) fn scan<S: Simd>(
    simd: S,
    queries: &Queries,
    rows: &[f32],
    ahead: Ahead,
    state: &mut State,
    nominator: &mut Nominator<'_>,
) {
    let (count, dim) = (queries.packed.columns(), queries.packed.depth());
    state.cutoffs.resize(count.next_multiple_of(PANEL), f32::INFINITY);
    state.errors.resize(count, f32::INFINITY);
    let largest_square = largest_square(simd, rows, dim);
    for (query, (bound, error)) in queries.bounds.iter().zip(&mut state.errors).enumerate() {
        *error = bound.error(largest_square);
        state.cutoffs[query] = bounds::cutoff(nominator.threshold(query), *error);
    }
    let rows = Rows::new(rows, dim, rows.len() / dim, dim);
    let mut compare = Compare { state, ahead, nominator };
    match (&queries.few, count) {
        (Some(few), 1) => scan_few::<S, 1>(simd, few, rows, &mut compare),
        (Some(few), 2) => scan_few::<S, 2>(simd, few, rows, &mut compare),
        (Some(few), 3) => scan_few::<S, 3>(simd, few, rows, &mut compare),
        (Some(few), _) => scan_few::<S, FEW>(simd, few, rows, &mut compare),
        (None, _) => tile::multiply(simd, rows, queries.packed.panels(), count, &mut compare),
    }
}

/// Multiplies each row with each of the `QUERIES` queries.
#[inline(always)]
fn scan_few<S: Simd, const QUERIES: usize>(
    simd: S,
    queries: &FewQueries<f32>,
    rows: Rows<'_>,
    compare: &mut Compare<'_, '_>,
) {
    for row in 0..rows.count() {
        let sums = queries.sums::<S, Numbers, QUERIES>(simd, rows.row(row), row, compare.ahead);
        for (query, sums) in sums.into_iter().enumerate() {
            let sum = simd.sum(sums);
            // Not `>=`: as below.
            let below = sum < compare.state.cutoffs[query];
            if !below {
                compare.nominate_one(simd, row, query, sum);
            }
        }
    }
}

/// Compares sums with what can still be among the k best.
struct Compare<'a, 'b> {
    state: &'a mut State,
    ahead: Ahead,
    nominator: &'a mut Nominator<'b>,
}

impl Epilogue for Compare<'_, '_> {
    type Product = Numbers;

    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, sums: S::F32) {
        // SAFETY: `column` begins sixteen columns of a panel, and the cutoffs fill whole panels.
        let cutoffs = unsafe { simd.load(self.state.cutoffs.as_ptr().add(column)) };
        // Not `>=`: what overflowed to NaN is nominated.
        let reached = u32::from(simd.not_less(sums, cutoffs)) & ((1 << count) - 1);
        if reached != 0 {
            self.nominate(simd, row, column, reached, &simd.to_array(sums));
        }
    }

    #[inline(always)]
    fn at(&self, row: usize, rows: usize, value: usize) {
        self.ahead.at(row, rows, value);
    }
}

impl Compare<'_, '_> {
    /// Nominates the lanes whose bits are set in `reached`.
    #[cold]
    #[inline(never)]
    fn nominate<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        mut reached: u32,
        sums: &[f32; LANES],
    ) {
        while reached != 0 {
            let lane = reached.trailing_zeros() as usize;
            self.nominate_one(simd, row, column + lane, sums[lane]);
            reached &= reached - 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn nominate_one<S: Simd>(&mut self, simd: S, row: usize, query: usize, sum: f32) {
        let error = self.state.errors[query];
        if self.nominator.nominate(simd, row, query, bounds::interval(sum, error)) {
            self.state.cutoffs[query] = bounds::cutoff(self.nominator.threshold(query), error);
        }
    }
}
