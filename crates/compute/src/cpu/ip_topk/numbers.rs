//! The pass in f32: rows against all queries in register tiles, each sum compared in registers.

use super::ahead::Ahead;
use super::bounds::{self, ErrorBound};
use super::nominate::Nominator;
use super::rows::largest_square;
use crate::cpu::product::Numbers;
use crate::cpu::tile::{self, Epilogue, PANEL, Packed, Rows};
use crate::simd::{LANES, Simd};

/// Queries as this pass wants them.
pub(crate) struct Queries {
    packed: Packed,
    bounds: Vec<ErrorBound>,
}

impl Queries {
    /// `queries` is `[count, dim]`.
    pub(crate) fn new(queries: &[f32], dim: usize) -> Self {
        let packed = Packed::new(queries, queries.len() / dim, dim);
        Self { packed, bounds: queries.chunks_exact(dim).map(ErrorBound::new).collect() }
    }

    /// `queries` rounded to f16, for rows that are rounded too.
    pub(crate) fn halves(queries: &[f32], dim: usize) -> Self {
        let rounded: Vec<f32> = queries.iter().map(|&x| half::f16::from_f32(x).to_f32()).collect();
        let packed = Packed::new(&rounded, queries.len() / dim, dim);
        Self { packed, bounds: queries.chunks_exact(dim).map(ErrorBound::halves).collect() }
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
    let (count, dim) = (queries.packed.columns, queries.packed.depth);
    state.cutoffs.resize(count.next_multiple_of(PANEL), f32::INFINITY);
    state.errors.resize(count, f32::INFINITY);
    let largest_square = largest_square(simd, rows, dim);
    for (query, (bound, error)) in queries.bounds.iter().zip(&mut state.errors).enumerate() {
        *error = bound.error(largest_square);
        state.cutoffs[query] = bounds::cutoff(nominator.threshold(query), *error);
    }
    let rows = Rows::new(rows, dim, rows.len() / dim, dim);
    let mut compare = Compare { state, ahead, nominator };
    tile::multiply(simd, rows, queries.packed.panels(), count, &mut compare);
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
            let query = column + lane;
            let error = self.state.errors[query];
            self.nominator.nominate(simd, row, query, bounds::interval(sums[lane], error));
            self.state.cutoffs[query] = bounds::cutoff(self.nominator.threshold(query), error);
            reached &= reached - 1;
        }
    }
}
