//! Matrix products in f32 by the register tile.

use toller_simd::LANES;
use toller_simd::Simd;
use toller_simd::product::Floats;
use toller_simd::tile::{AlignedBuffer, Epilogue, PANEL, Rows, multiply};

/// A matrix packed as the right side of a product.
#[derive(Clone, Default)]
pub(crate) struct Panels {
    buffer: AlignedBuffer,
    columns: usize,
    depth: usize,
}

impl Panels {
    fn reset(&mut self, columns: usize, depth: usize) -> &mut [f32] {
        (self.columns, self.depth) = (columns, depth);
        let len = columns.div_ceil(PANEL) * depth * PANEL;
        self.buffer.grow(len);
        &mut self.buffer.as_mut_slice()[..len]
    }

    /// Packs rows `[columns, depth]`, for products with their transpose: those of a linear layer with its
    /// weight.
    pub(crate) fn pack_transposed(&mut self, rows: Rows<'_>) {
        let (columns, depth) = (rows.count(), rows.depth());
        let packed = self.reset(columns, depth);
        for (panel, first) in packed.chunks_exact_mut((depth * PANEL).max(1)).zip((0..columns).step_by(PANEL))
        {
            let count = PANEL.min(columns - first);
            let rows: [&[f32]; PANEL] =
                std::array::from_fn(|column| if column < count { rows.row(first + column) } else { &[] });
            for (index, line) in panel.chunks_exact_mut(PANEL).enumerate() {
                for (value, row) in line[..count].iter_mut().zip(rows) {
                    *value = row[index];
                }
                line[count..].fill(0.0);
            }
        }
    }

    /// Packs rows `[depth, columns]`, for products with them as they are.
    pub(crate) fn pack(&mut self, rows: Rows<'_>) {
        let (depth, columns) = (rows.count(), rows.depth());
        let packed = self.reset(columns, depth);
        for index in 0..depth {
            let row = rows.row(index);
            for (panel, values) in row.chunks(PANEL).enumerate() {
                let line = &mut packed[(panel * depth + index) * PANEL..][..PANEL];
                line[..values.len()].copy_from_slice(values);
                line[values.len()..].fill(0.0);
            }
        }
    }

    /// The width of a product.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }
}

/// Writes `rows [count, depth] x panels [depth, columns]` to rows of `out` that are `stride` values apart, or
/// adds it to them.
#[inline(always)]
pub(crate) fn product<S: Simd>(
    simd: S,
    rows: Rows<'_>,
    panels: &Panels,
    out: &mut [f32],
    stride: usize,
    adds: bool,
) {
    assert_eq!(rows.depth(), panels.depth, "the depth of a product");
    let needed = if rows.count() == 0 { 0 } else { (rows.count() - 1) * stride + panels.columns };
    assert!(out.len() >= needed && stride >= panels.columns, "room for the product");
    let mut store = Store { out, stride, adds };
    multiply(simd, rows, panels.buffer.as_slice(), panels.columns, &mut store);
}

struct Store<'a> {
    out: &'a mut [f32],
    stride: usize,
    adds: bool,
}

impl Epilogue for Store<'_> {
    type Product = Floats;

    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, mut sums: S::F32) {
        // SAFETY: row and column + count are within the product's shape, for which `product` found room.
        unsafe {
            let to = self.out.as_mut_ptr().add(row * self.stride + column);
            if count == LANES {
                if self.adds {
                    sums = simd.add(simd.load(to), sums);
                }
                simd.store(to, sums);
            } else {
                if self.adds {
                    sums = simd.add(simd.load_part(to, count), sums);
                }
                simd.store_part(to, sums, count);
            }
        }
    }
}

/// Columns that are transposed at a time: a line of the cache.
const STRIP: usize = 16;

/// Writes the transpose of `rows [count, depth]` to `out`, `[depth, count]`.
#[inline(always)]
pub(crate) fn transpose(rows: Rows<'_>, out: &mut Vec<f32>) {
    let (count, depth) = (rows.count(), rows.depth());
    out.resize(count * depth, 0.0);
    for first in (0..depth).step_by(STRIP) {
        let last = (first + STRIP).min(depth);
        for index in 0..count {
            for (column, &value) in rows.row(index)[first..last].iter().enumerate() {
                out[(first + column) * count + index] = value;
            }
        }
    }
}
