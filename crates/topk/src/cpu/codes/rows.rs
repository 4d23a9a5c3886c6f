//! The rows of a block as codes, and what is known of each row.

use std::slice::from_mut;

use toller_simd::tile::{AlignedBuffer, Rows};
use toller_simd::word::for_each_vector;
use toller_simd::{Kernel, Simd};

use super::{OFFSET, Queries};
use crate::collection::Codes;
use crate::cpu::bounds::{ROUNDINGS, rounded_up};
use crate::cpu::prefetch::NextBlock;
use crate::quantize::Quantize;

/// Codes of a value.
pub(super) const VALUE_BYTES: usize = size_of::<i32>();
/// Bytes of sixteen values.
const LINE_BYTES: usize = 64;

/// Rows of codes, each of whole lines with zeros beyond the vector.
#[derive(Default)]
pub(super) struct CodeBuffer {
    values: AlignedBuffer<i32>,
}

impl CodeBuffer {
    /// Makes room for at least `bytes`.
    fn grow(&mut self, bytes: usize) {
        self.values.grow(bytes.div_ceil(VALUE_BYTES));
    }

    /// Four codes a value, the first in the lowest byte.
    fn values(&self) -> &[i32] {
        self.values.as_slice()
    }

    fn bytes_mut(&mut self) -> &mut [i8] {
        bytemuck::cast_slice_mut(self.values.as_mut_slice())
    }
}

/// The rows of a block.
pub(crate) enum Source<'a> {
    /// Codes of the store.
    Stored(Codes<'a>),
    /// Numbers `[rows, dim]`, which are rounded now.
    Numbers(&'a [f32]),
}

/// What is known of each row.
#[derive(Default)]
pub(super) struct RowFacts {
    /// s_x.
    pub(super) scales: Vec<f32>,
    /// e.
    pub(super) residual_norms: Vec<f32>,
    /// n.
    pub(super) norms: Vec<f32>,
    /// The negative of what the offset of the queries' bytes adds to the sums.
    pub(super) corrections: Vec<i32>,
    /// N.
    pub(super) largest_norm: f32,
    /// E.
    pub(super) largest_residual_norm: f32,
}

impl RowFacts {
    /// The codes of `source` as rows of values: where the store has them like that, else in `buffer`. Numbers
    /// are rounded row by row, and with each row one row of the `next` block is prefetched.
    #[inline(always)]
    pub(super) fn rows<'a, S: Simd>(
        &mut self,
        simd: S,
        queries: &Queries,
        source: Source<'a>,
        next: NextBlock,
        buffer: &'a mut CodeBuffer,
    ) -> Rows<'a, i32> {
        let (dim, depth) = (queries.dim(), queries.depth());
        let stride = dim.next_multiple_of(LINE_BYTES);
        let count;
        match source {
            Source::Stored(codes) => {
                count = codes.scales.len();
                self.scales.clear();
                self.scales.extend_from_slice(codes.scales);
                self.residual_norms.clear();
                self.residual_norms.extend_from_slice(codes.residual_norms);
                if dim.is_multiple_of(VALUE_BYTES)
                    && let Ok(values) = bytemuck::try_cast_slice(codes.values)
                {
                    return Rows::new(values, depth, count, depth);
                }
                buffer.grow(count * stride);
                let padded = buffer.bytes_mut().chunks_exact_mut(stride);
                for (to, from) in padded.zip(codes.values.chunks_exact(dim)) {
                    to[..dim].copy_from_slice(from);
                }
            }
            Source::Numbers(rows) => {
                count = rows.len() / dim;
                self.scales.resize(count, 0.0);
                self.residual_norms.resize(count, 0.0);
                buffer.grow(count * stride);
                let codes = buffer.bytes_mut().chunks_exact_mut(stride);
                let places = codes.zip(&mut self.scales).zip(&mut self.residual_norms);
                for (number, (row, ((codes, scale), residual_norm))) in
                    rows.chunks_exact(dim).zip(places).enumerate()
                {
                    next.prefetch_row(number);
                    let (scales, residual_norms) = (from_mut(scale), from_mut(residual_norm));
                    Quantize { rows: row, dim, stride, codes, scales, residual_norms }.run(simd);
                }
            }
        }
        Rows::new(buffer.values(), stride / VALUE_BYTES, count, depth)
    }

    /// Measures the codes of `rows`. This is also what brings the codes of a store from memory.
    #[inline(always)]
    pub(super) fn measure<S: Simd>(&mut self, simd: S, rows: Rows<'_, i32>) {
        self.norms.clear();
        self.corrections.clear();
        (self.largest_norm, self.largest_residual_norm) = (0.0, 0.0);
        for row in 0..rows.count() {
            let (sum, squares) = sum_and_squares(simd, rows.row(row));
            let norm = rounded_up(f64::from(self.scales[row]) * f64::from(squares).sqrt() * ROUNDINGS);
            self.norms.push(norm);
            self.corrections.push(-OFFSET * sum);
            let residual_norm = self.residual_norms[row];
            // `max` alone would drop a NaN: a block has no bounds if one of its rows has none.
            let bounded = norm.is_finite() && residual_norm.is_finite();
            self.largest_norm = self.largest_norm.max(if bounded { norm } else { f32::INFINITY });
            self.largest_residual_norm = self.largest_residual_norm.max(residual_norm);
        }
    }
}

/// The sum of the codes of a row, and the sum of their squares.
#[inline(always)]
fn sum_and_squares<S: Simd>(simd: S, row: &[i32]) -> (i32, i32) {
    let ones = simd.splat_i32(i32::from_le_bytes([1; VALUE_BYTES]));
    let (mut sums, mut squares) = (simd.splat_i32(0), simd.splat_i32(0));
    for_each_vector(simd, row, |_, codes| {
        sums = simd.dot(sums, ones, codes);
        let sizes = simd.abs_i8(codes);
        squares = simd.dot(squares, sizes, sizes);
    });
    (simd.sum_i32(sums), simd.sum_i32(squares))
}
