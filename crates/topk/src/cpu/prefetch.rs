//! Asks the cache for the next block while the current block is multiplied.

use toller_simd::LANES;
use toller_simd::prefetch::prefetch;

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;

/// The rows of the next block, as bytes.
#[derive(Clone, Copy)]
pub(crate) struct NextBlock {
    start: *const u8,
    row_bytes: usize,
    /// Lines to ask for with every sixteen values of a row.
    lines: usize,
}

impl NextBlock {
    /// There is nothing to ask for.
    pub(crate) const NONE: Self = Self { start: std::ptr::null(), row_bytes: 0, lines: 0 };

    /// The `rows` rows of `bytes`, for the time in which rows of `depth` values are multiplied.
    pub(crate) fn new(bytes: &[u8], rows: usize, depth: usize) -> Self {
        let row_bytes = bytes.len() / rows.max(1);
        let lines = row_bytes.div_ceil(LINE_BYTES).div_ceil(depth.div_ceil(LANES).max(1));
        Self { start: bytes.as_ptr(), row_bytes, lines }
    }

    /// Asks for a piece of the `rows` rows from `row` on: the piece that corresponds to the sixteen values
    /// from `value` on, if rows were divided evenly. All pieces together are the rows.
    #[inline(always)]
    pub(crate) fn prefetch(&self, row: usize, rows: usize, value: usize) {
        let lines = rows * self.lines;
        let first = self.start.wrapping_add(row * self.row_bytes + value / LANES * lines * LINE_BYTES);
        for line in 0..lines {
            prefetch(first.wrapping_add(line * LINE_BYTES));
        }
    }

    /// Asks for a whole row: for work that goes row by row before anything is multiplied.
    #[inline(always)]
    pub(crate) fn prefetch_row(&self, row: usize) {
        let first = self.start.wrapping_add(row * self.row_bytes);
        for line in 0..self.row_bytes.div_ceil(LINE_BYTES) {
            prefetch(first.wrapping_add(line * LINE_BYTES));
        }
    }
}
