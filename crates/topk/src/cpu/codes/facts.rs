//! The rows of a block as codes, and what is known of each.

use std::slice::from_mut;

use super::{OFFSET, Queries, VALUE_BYTES};
use crate::Codes;
use crate::cpu::ahead::Ahead;
use crate::cpu::bounds::{ROUNDINGS, rounded_up};
use crate::cpu::quantize::{CodeBuffer, Quantize};
use toller_simd::tile::Rows;
use toller_simd::{Kernel, LANES, Simd};

/// Bytes of sixteen values.
const LINE_BYTES: usize = 64;

/// The rows of a block.
pub(crate) enum Source<'a> {
    /// As the store has them.
    Stored(Codes<'a>),
    /// `[rows, dim]`, to be rounded now.
    Numbers(&'a [f32]),
}

/// What is known of each row.
#[derive(Default)]
pub(super) struct Facts {
    /// s_x.
    pub(super) scales: Vec<f32>,
    /// e.
    pub(super) residual_norms: Vec<f32>,
    /// n.
    pub(super) norms: Vec<f32>,
    /// What the offset of the queries' bytes has added to the sums, negated.
    pub(super) corrections: Vec<i32>,
    /// N.
    pub(super) largest_norm: f32,
    /// E.
    pub(super) largest_residual_norm: f32,
    /// Whether nothing overflows.
    pub(super) bounded: bool,
}

impl Facts {
    /// The codes of `source` as rows of values, in `buffer` where they do not lie so in the store. Numbers are rounded
    /// row by row, and each row asks `ahead` for one.
    #[inline(always)]
    pub(super) fn rows<'a, S: Simd>(
        &mut self,
        simd: S,
        queries: &Queries,
        source: Source<'a>,
        ahead: Ahead,
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
                    ahead.row(number);
                    let (scales, residual_norms) = (from_mut(scale), from_mut(residual_norm));
                    Quantize { rows: row, dim, stride, codes, scales, residual_norms }.run(simd);
                }
            }
        }
        Rows::new(buffer.values(), stride / VALUE_BYTES, count, depth)
    }

    /// Measures the codes of `rows`. For codes in the store this is also what brings them from memory.
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
            // Not left to `max`, which forgets a NaN: one row without bounds leaves its block without.
            let bounded = norm.is_finite() && residual_norm.is_finite();
            self.largest_norm = self.largest_norm.max(if bounded { norm } else { f32::INFINITY });
            self.largest_residual_norm = self.largest_residual_norm.max(residual_norm);
        }
    }
}

/// The sum of the codes of a row, and that of their squares.
#[inline(always)]
fn sum_and_squares<S: Simd>(simd: S, row: &[i32]) -> (i32, i32) {
    let ones = simd.splat_i32(i32::from_le_bytes([1; VALUE_BYTES]));
    let (mut sums, mut squares) = (simd.splat_i32(0), simd.splat_i32(0));
    let mut add = |codes: S::I32| {
        sums = simd.dot(sums, ones, codes);
        let sizes = simd.abs_i8(codes);
        squares = simd.dot(squares, sizes, sizes);
    };
    let (whole, rest) = row.as_chunks::<LANES>();
    for values in whole {
        // SAFETY: a chunk is sixteen values.
        add(unsafe { simd.load_i32(values.as_ptr()) });
    }
    if !rest.is_empty() {
        let mut values = [0; LANES];
        values[..rest.len()].copy_from_slice(rest);
        // SAFETY: the array holds sixteen values.
        add(unsafe { simd.load_i32(values.as_ptr()) });
    }
    (simd.sum_i32(sums), simd.sum_i32(squares))
}
