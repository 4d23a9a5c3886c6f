//! The matrix product that everything else is made of: rows of values times packed panels.
//!
//! Idea: a register tile of `Lanes::TILE_ROWS` rows by `Lanes::TILE_VECTORS` vectors of columns stays in
//! registers over the whole depth. Each step loads the columns once and broadcasts one value a row, so that
//! fused multiply-adds, not loads, are the bound (12 x 2 on AVX-512: 24 multiply-adds for 14 loads). Cost
//! model: depth * rows * columns / 16 multiply-adds; two a cycle is the floor.
//!
//! Every output is one chain of fused multiply-adds over the depth, in ascending order, whatever the tile's
//! shape. So a row's result depends neither on its neighbours nor on the instruction set.

use std::sync::Arc;

use crate::product::{Product, Sums};
use crate::word::Word;
use crate::{LANES, Simd};

/// Columns of a packed panel.
pub const PANEL: usize = 2 * LANES;

/// Bytes of rows that a block keeps in the second-level cache while the panels pass by: a quarter of the
/// 1 MiB that a server core has today. Not swept.
const BLOCK_BYTES: usize = 256 << 10;

/// Bytes of a [`Product::Value`].
const VALUE_BYTES: usize = 4;

/// Sixteen values of four bytes, aligned as the widest register.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line<V>([V; LANES]);

/// A buffer of values of four bytes, aligned to 64 bytes.
#[derive(Clone)]
pub struct AlignedBuffer<V = f32> {
    lines: Vec<Line<V>>,
}

impl<V> Default for AlignedBuffer<V> {
    fn default() -> Self {
        Self { lines: Vec::new() }
    }
}

impl<V: Copy + Default> AlignedBuffer<V> {
    /// A buffer of at least `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { lines: vec![Line([V::default(); LANES]); len.div_ceil(LANES)] }
    }

    /// Grows to at least `len` values and keeps those it has.
    pub fn grow(&mut self, len: usize) {
        let lines = len.div_ceil(LANES);
        if lines > self.lines.len() {
            self.lines.resize(lines, Line([V::default(); LANES]));
        }
    }

    /// All values.
    pub fn as_slice(&self) -> &[V] {
        const { assert!(size_of::<Line<V>>() == LANES * size_of::<V>(), "no padding") };
        // SAFETY: a `Line` is sixteen values without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LANES) }
    }

    /// All values, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [V] {
        const { assert!(size_of::<Line<V>>() == LANES * size_of::<V>(), "no padding") };
        // SAFETY: a `Line` is sixteen values without padding.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LANES) }
    }
}

/// A matrix `[columns, depth]` packed for [`multiply`]: panels `[depth, 32]` of 32 columns, and zeros beyond
/// the last column.
#[derive(Clone)]
pub struct Packed<V = f32> {
    panels: Arc<AlignedBuffer<V>>,
    columns: usize,
    depth: usize,
}

impl<V: Copy + Default> Packed<V> {
    /// Packs a row-major matrix `[columns, depth]`, the layout of a linear layer's weight.
    pub fn new(matrix: &[V], columns: usize, depth: usize) -> Self {
        assert_eq!(matrix.len(), columns * depth, "a matrix of {columns} x {depth}");
        let mut panels = AlignedBuffer::zeros(columns.div_ceil(PANEL) * depth * PANEL);
        let packed = panels.as_mut_slice();
        for (column, row) in matrix.chunks_exact(depth.max(1)).enumerate() {
            let start = (column / PANEL) * depth * PANEL + column % PANEL;
            for (i, &value) in row.iter().enumerate() {
                packed[start + i * PANEL] = value;
            }
        }
        Self { panels: Arc::new(panels), columns, depth }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Values of a column.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// All panels.
    pub fn panels(&self) -> &[V] {
        self.panels.as_slice()
    }
}

/// `count` rows of values in memory, `stride` values apart.
#[derive(Clone, Copy)]
pub struct Rows<'a, V = f32> {
    values: &'a [V],
    stride: usize,
    count: usize,
    depth: usize,
}

impl<'a, V> Rows<'a, V> {
    /// `count` rows of `depth` values: the first at the start of `values`, the next `stride` values further.
    ///
    /// # Panics
    /// When `values` is too short for them: the products below rely on their length.
    pub fn new(values: &'a [V], stride: usize, count: usize, depth: usize) -> Self {
        let needed = if count == 0 { 0 } else { (count - 1) * stride + depth };
        assert!(values.len() >= needed, "{count} rows of {depth} need {needed} values");
        Self { values, stride, count, depth }
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Values of a row.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The rows `rows` of these.
    pub fn range(&self, rows: std::ops::Range<usize>) -> Self {
        Self::new(
            self.values.get(rows.start * self.stride..).unwrap_or_default(),
            self.stride,
            rows.len(),
            self.depth,
        )
    }

    /// A row.
    pub fn row(&self, index: usize) -> &'a [V] {
        &self.values[index * self.stride..][..self.depth]
    }
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

/// Multiplies rows `[count, depth]` with panels of `columns` columns and gives every sum to the epilogue.
#[inline(always)]
pub fn multiply<S: Simd, E: Epilogue>(
    simd: S,
    rows: Rows<'_, Value<E>>,
    panels: &[Value<E>],
    columns: usize,
    epilogue: &mut E,
) {
    let panel_len = rows.depth * PANEL;
    assert!(panels.len() >= columns.div_ceil(PANEL) * panel_len, "too few panels for {columns} columns");
    let block_tiles = (BLOCK_BYTES / (rows.depth.max(1) * VALUE_BYTES * S::TILE_ROWS)).max(2);
    let block_rows = block_tiles * S::TILE_ROWS;
    for block in (0..rows.count).step_by(block_rows) {
        let block_end = (block + block_rows).min(rows.count);
        for panel in 0..columns.div_ceil(PANEL) {
            for row in (block..block_end).step_by(S::TILE_ROWS) {
                // SAFETY: the rows from `row` to `block_end` are within `rows`, which `Rows::new` checked;
                // the panel is within `panels`, as asserted above.
                unsafe {
                    let start = panels.as_ptr().add(panel * panel_len);
                    tile_of(simd, rows, row, block_end, start, panel * PANEL, columns, epilogue);
                }
            }
        }
    }
}

/// One tile: rows from `row` to at most `end`, one panel. The last rows take the smallest tile that holds
/// them; its surplus rows repeat the last row and are not stored.
///
/// # Safety
/// `row < end <= rows.count`; `panel` holds `[depth, 32]` values.
#[expect(
    clippy::too_many_arguments,
    reason = "one tile is described by this many numbers; a struct would only be unpacked"
)]
#[inline(always)]
unsafe fn tile_of<S: Simd, E: Epilogue>(
    simd: S,
    rows: Rows<'_, Value<E>>,
    row: usize,
    end: usize,
    panel: *const Value<E>,
    column: usize,
    columns: usize,
    epilogue: &mut E,
) {
    let count = (end - row).min(S::TILE_ROWS);
    macro_rules! shaped {
        ($rows:literal) => {
            // SAFETY: the caller keeps the contract for the rows and the panel, and `$rows` is at least
            // `count`.
            unsafe {
                // A last panel of at most sixteen columns is half as much work.
                if const { S::TILE_VECTORS == 2 } && column + LANES < columns {
                    tile::<S, E, $rows, 2>(simd, rows, row, count, panel, column, columns, epilogue);
                } else {
                    tile::<S, E, $rows, 1>(simd, rows, row, count, panel, column, columns, epilogue);
                    if const { S::TILE_VECTORS == 1 } && column + LANES < columns {
                        let right = panel.add(LANES);
                        tile::<S, E, $rows, 1>(
                            simd,
                            rows,
                            row,
                            count,
                            right,
                            column + LANES,
                            columns,
                            epilogue,
                        );
                    }
                }
            }
        };
    }
    // What is constant here keeps the compiler from making tiles that an instruction set never takes.
    if count == 1 {
        shaped!(1);
    } else if count == 2 {
        shaped!(2);
    } else if const { S::TILE_ROWS <= 4 } || count <= 4 {
        shaped!(4);
    } else if const { S::TILE_ROWS <= 6 } || count <= 6 {
        shaped!(6);
    } else if count <= 8 {
        shaped!(8);
    } else {
        const { assert!(S::TILE_ROWS <= 12, "no tile has more rows") };
        shaped!(12);
    }
}

/// The register tile.
///
/// # Safety
/// As for [`tile_of`]; `1 <= count <= ROWS`.
#[expect(clippy::too_many_arguments, reason = "as for tile_of")]
#[inline(always)]
unsafe fn tile<S: Simd, E: Epilogue, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    rows: Rows<'_, Value<E>>,
    row: usize,
    count: usize,
    panel: *const Value<E>,
    column: usize,
    columns: usize,
    epilogue: &mut E,
) {
    const { assert!(VECTORS == 1 || VECTORS == 2, "a panel is two vectors wide") };
    // SAFETY: row + r is at most the last row of the tile, which exists; every depth index is below
    // `depth`, within the row and within the panel.
    unsafe {
        // Loops, not closures: each would be compiled again for every tile.
        let mut starts = [rows.values.as_ptr(); ROWS];
        for (r, start) in starts.iter_mut().enumerate() {
            *start = start.add((row + r.min(count - 1)) * rows.stride);
        }
        let zero = <E::Product as Product>::Sum::splat(simd, Default::default());
        let mut sums = [[zero; VECTORS]; ROWS];
        for first in (0..rows.depth).step_by(LANES) {
            // Once for the rows, not once for each panel.
            if column == 0 {
                epilogue.at(row, ROWS, first);
            }
            for i in first..(first + LANES).min(rows.depth) {
                let line = panel.add(i * PANEL);
                let mut weights = [Word::load(simd, line); VECTORS];
                if VECTORS == 2 {
                    weights[VECTORS - 1] = Word::load(simd, line.add(LANES));
                }
                for r in 0..ROWS {
                    let value = Word::splat(simd, *starts[r].add(i));
                    for v in 0..VECTORS {
                        sums[r][v] = E::Product::multiply_add(simd, value, weights[v], sums[r][v]);
                    }
                }
            }
        }
        // Indexing `sums` by a run-time count would force it into memory for the whole loop. Copy it first,
        // so that only the copy lives there.
        let mut finished = [[zero; VECTORS]; ROWS];
        for r in 0..ROWS {
            for v in 0..VECTORS {
                finished[r][v] = sums[r][v];
            }
        }
        for (r, sums) in finished.iter().enumerate().take(count) {
            for (v, &sum) in sums.iter().enumerate() {
                let first = column + v * LANES;
                if first < columns {
                    epilogue.store(simd, row + r, first, LANES.min(columns - first), sum);
                }
            }
        }
    }
}
