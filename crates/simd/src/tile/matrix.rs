//! The factors of a product: packed columns, and rows in place.

use std::ops::Range;
use std::sync::Arc;

use super::{AlignedBuffer, PANEL};

/// A matrix `[columns, depth]` packed for [`multiply`](super::multiply): panels `[depth, 32]` of 32 columns,
/// and zeros beyond the last column.
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

    /// Where a row starts; the pointer may read those that follow, too.
    pub(super) fn start(&self, row: usize) -> *const V {
        self.values[row * self.stride..].as_ptr()
    }

    /// Values from one row to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The rows `rows` of these.
    pub fn range(&self, rows: Range<usize>) -> Self {
        self.part(rows, 0..self.depth)
    }

    /// The values `values` of the rows `rows`.
    pub fn part(&self, rows: Range<usize>, values: Range<usize>) -> Self {
        let start = rows.start * self.stride + values.start;
        Self::new(self.values.get(start..).unwrap_or_default(), self.stride, rows.len(), values.len())
    }

    /// A row.
    pub fn row(&self, index: usize) -> &'a [V] {
        &self.values[index * self.stride..][..self.depth]
    }
}
