//! The matrix product that everything else is made of: rows of values times packed panels.
//!
//! Idea: a register tile of `Lanes::TILE_ROWS` rows by `Lanes::TILE_VECTORS` vectors of columns stays in
//! registers over a slice of the depth. Each step loads the columns once and broadcasts one value a row, so
//! that fused multiply-adds, not loads, are the bound (12 x 2 on AVX-512: 24 multiply-adds for 14 loads).
//! Cost model: depth * rows * columns / 16 multiply-adds; two a cycle is the floor.
//!
//! A slice of a block of rows and a slice of a panel fit into the second-level cache together. Between two
//! slices, the sums of a block wait in memory.
//!
//! Every output is one chain of fused multiply-adds over the depth, in ascending order, whatever the tile's
//! shape and the slices. So a row's result depends neither on its neighbours nor on the instruction set.

mod buffer;
mod matrix;
mod register;
#[cfg(test)]
mod tests;

use std::hint::black_box;

pub use buffer::AlignedBuffer;
pub use matrix::{Packed, Rows};
use register::{Place, tile_of};

use crate::product::{Product, Sums};
use crate::{LANES, Simd};

/// Columns of a packed panel.
pub const PANEL: usize = 2 * LANES;

/// Bytes of rows that a block keeps in the second-level cache while the panels pass by: a quarter of the
/// 1 MiB that a server core has today.
const BLOCK_BYTES: usize = 256 << 10;

/// The most multiply-adds of a tile, in vectors, that are done in one slice of the depth: fewer, and the sums
/// that wait in memory cost too much; more, and a panel leaves the cache. 768 values on AVX-512, 3,072 on
/// AVX2.
const SLICE: usize = 768 * 24;

/// Bytes of a [`Product::Value`].
const VALUE_BYTES: usize = 4;

/// Lines that are this many bytes apart compete for the same place in the first-level cache: 64 sets of 64
/// bytes, on x86 and most of Arm.
const CONFLICT_BYTES: usize = 4096;

/// More rows than these evict each other there: the ways of the smallest such cache today.
const CONFLICT_ROWS: usize = 8;

/// The values from one row to the next, for rows of `depth` values that are laid out to be multiplied: whole
/// vectors, and no conflicts in the first-level cache.
pub fn stride(depth: usize) -> usize {
    let stride = depth.next_multiple_of(LANES);
    if conflicts(stride) { stride + LANES } else { stride }
}

/// Whether the same values of rows that are `stride` values apart compete in the first-level cache.
fn conflicts(stride: usize) -> bool {
    stride > 0 && (stride * VALUE_BYTES).is_multiple_of(CONFLICT_BYTES)
}

/// Where the products go.
pub trait Epilogue {
    /// What is multiplied.
    type Product: Product;

    /// Takes the sums of `row` for the columns from `column`; the first `count` are real.
    ///
    /// # Safety
    /// `row` and `column + count` are within the product's shape; `count` is at most sixteen.
    unsafe fn store<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        count: usize,
        sums: Sums<Self::Product, S>,
    );

    /// Called for every sixteen values of a tile of `rows` rows from `row` on, while they are multiplied: the
    /// place to prefetch what is needed next, spread over the time that the product takes.
    #[inline(always)]
    fn at(&self, _row: usize, _rows: usize, _value: usize) {}
}

/// The values that an epilogue's product multiplies.
type Value<E> = <<E as Epilogue>::Product as Product>::Value;
/// What they add up to.
type Sum<E> = <<E as Epilogue>::Product as Product>::Sum;

/// How a product is divided.
struct Blocks {
    /// Rows of a block.
    rows: usize,
    /// Values of a slice of the depth.
    depth: usize,
    /// How many slices there are, at least one.
    slices: usize,
    /// Whether rows are copied, because they conflict where they are.
    copies: bool,
}

impl Blocks {
    #[inline(always)]
    fn new<S: Simd, V>(rows: Rows<'_, V>, columns: usize) -> Self {
        // The rows of a single tile pass each panel once: no cache can help.
        let is_one_tile = rows.count() <= S::TILE_ROWS;
        let longest =
            if is_one_tile { rows.depth().max(1) } else { SLICE / (S::TILE_ROWS * S::TILE_VECTORS) };
        let slices = rows.depth().div_ceil(longest).max(1);
        let depth = rows.depth().div_ceil(slices).next_multiple_of(LANES).max(LANES);
        let tiles = (BLOCK_BYTES / (depth * VALUE_BYTES * S::TILE_ROWS)).max(2);
        Self {
            rows: (tiles * S::TILE_ROWS).min(rows.count().next_multiple_of(S::TILE_ROWS)),
            depth,
            slices,
            // A copy pays where each value is used more than a few times.
            copies: conflicts(rows.stride())
                && rows.count().min(S::TILE_ROWS) > CONFLICT_ROWS
                && columns >= 2 * PANEL,
        }
    }
}

/// Multiplies rows `[count, depth]` with panels of `columns` columns and gives every sum to the epilogue.
#[inline(always)]
pub fn multiply<S: Simd, E: Epilogue>(
    simd: S,
    rows: Rows<'_, Value<E>>,
    panels: &[Value<E>],
    columns: usize,
    epilogue: &mut E,
) {
    let panel_len = rows.depth() * PANEL;
    let panel_count = columns.div_ceil(PANEL);
    assert!(panels.len() >= panel_count * panel_len, "too few panels for {columns} columns");
    let blocks = Blocks::new::<S, _>(rows, columns);
    let copy_stride = stride(blocks.depth);
    let mut copy = AlignedBuffer::zeros(if blocks.copies { blocks.rows * copy_stride } else { 0 });
    let is_divided = blocks.slices > 1;
    let mut sums =
        AlignedBuffer::<Sum<E>>::zeros(if is_divided { panel_count * blocks.rows * PANEL } else { 0 });
    let sums = sums.as_mut_slice().as_mut_ptr();
    for first_row in (0..rows.count()).step_by(blocks.rows.max(1)) {
        for slice in 0..blocks.slices {
            let value = (slice * blocks.depth).min(rows.depth());
            // The compiler would compute this again in the innermost loop, for want of registers.
            let depth = black_box(blocks.depth.min(rows.depth() - value));
            let mut part =
                rows.part(first_row..(first_row + blocks.rows).min(rows.count()), value..value + depth);
            if blocks.copies {
                let to = copy.as_mut_slice().chunks_exact_mut(copy_stride);
                for (row, to) in to.enumerate().take(part.count()) {
                    to[..depth].copy_from_slice(part.row(row));
                }
                part = Rows::new(copy.as_slice(), copy_stride, part.count(), depth);
            }
            for panel in 0..panel_count {
                for row in (0..part.count()).step_by(S::TILE_ROWS) {
                    let place = Place {
                        row: first_row + row,
                        column: panel * PANEL,
                        value,
                        is_last: slice + 1 == blocks.slices,
                    };
                    // SAFETY: `row` is a row of `part`; the slice of the panel is within `panels`, as
                    // asserted above. Where there are several slices, `sums` has room for whole tiles of each
                    // panel.
                    unsafe {
                        let panel_start = panels.as_ptr().add(panel * panel_len + value * PANEL);
                        let sums = sums.wrapping_add((panel * blocks.rows + row) * PANEL);
                        tile_of(simd, part, row, place, panel_start, sums, columns, epilogue);
                    }
                }
            }
        }
    }
}
