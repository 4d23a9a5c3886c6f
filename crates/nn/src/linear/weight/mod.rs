//! Weights of linear layers in every precision, and the product of an input with them.
//!
//! In f32 the rows of the input are multiplied where they lie. In the other precisions a block of rows is
//! converted into the numbers of the product first ([`Reduced::convert`]), and the sums back into f32 while
//! they are in registers ([`Reduced::numbers`]).

mod bf16;
mod f16;
mod int8;

use bf16::Bf16Weight;
pub(crate) use bf16::convert_to_pairs;
use f16::F16Weight;
pub(crate) use int8::Int8Weight;

use std::ops::Range;

use toller_simd::product::{Floats, Product, Sums};
use toller_simd::tile::{AlignedBuffer, Epilogue, PANEL, Packed, Rows, multiply, stride};
use toller_simd::{self as simd, Isa, Kernel, Simd};

use crate::Precision;
use crate::cpu::Part;

/// Rows that are converted at a time: eight register tiles of AVX-512. 96 rows of 1,536 bytes are 144 KiB.
const BLOCK: usize = 96;

/// A weight `[columns, depth]` laid out for products with it.
pub(crate) enum Weight {
    F32(Packed),
    F16(F16Weight),
    Bf16(Bf16Weight),
    Int8(Int8Weight),
}

/// Where the products go.
pub(crate) trait Finish {
    /// Takes sixteen products of `row` for the columns from `column`; the first `count` are real.
    ///
    /// # Safety
    /// `row` and `column + count` are within the product's shape; `count` is at most sixteen.
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, products: S::F32);
}

impl Weight {
    /// Lays a row-major matrix `[columns, depth]` out.
    ///
    /// # Panics
    /// In int8, when the depth is above [`Int8Weight::LONGEST`].
    pub(crate) fn new(matrix: &[f32], columns: usize, depth: usize, precision: Precision) -> Self {
        match precision {
            Precision::F32 => Self::F32(Packed::new(matrix, columns, depth)),
            Precision::F16 => Self::F16(F16Weight::new(matrix, columns, depth)),
            Precision::Bf16 => Self::Bf16(Bf16Weight::new(matrix, columns, depth)),
            Precision::Int8 => Self::Int8(Int8Weight::new(matrix, columns, depth)),
        }
    }

    /// The width of an output.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::F32(weight) => weight.columns(),
            Self::F16(weight) => weight.packed().columns(),
            Self::Bf16(weight) => weight.packed().columns(),
            Self::Int8(weight) => weight.packed().columns(),
        }
    }

    /// The width of an input.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::F32(weight) => weight.depth(),
            Self::F16(weight) => weight.depth(),
            Self::Bf16(weight) => weight.depth(),
            Self::Int8(weight) => weight.depth(),
        }
    }

    /// Multiplies `x` `[rows, depth]` with a part of the weight's columns, every product going to `finish`.
    pub(crate) fn multiply(
        &self,
        isa: Isa,
        x: &[f32],
        rows: usize,
        part: Part,
        conversions: &mut Conversions,
        finish: impl Finish,
    ) {
        assert_eq!(x.len(), rows * self.depth(), "{rows} rows of {} numbers", self.depth());
        let columns = part.of(self.columns(), PANEL);
        let Conversions { f32, i32 } = conversions;
        match self {
            Self::F32(weight) => simd::dispatch_on(isa, InPlace { x, rows, weight, columns, finish }),
            Self::F16(weight) => {
                simd::dispatch_on(isa, Converted { x, rows, weight, columns, values: f32, finish });
            }
            Self::Bf16(weight) => {
                simd::dispatch_on(isa, Converted { x, rows, weight, columns, values: i32, finish });
            }
            Self::Int8(weight) => {
                simd::dispatch_on(isa, Converted { x, rows, weight, columns, values: i32, finish });
            }
        }
    }
}

/// The buffers of a thread for rows in other precisions than f32.
#[derive(Default)]
pub(crate) struct Conversions {
    f32: AlignedBuffer,
    i32: AlignedBuffer<i32>,
}

/// The product in f32.
struct InPlace<'a, F> {
    x: &'a [f32],
    rows: usize,
    weight: &'a Packed,
    /// From a whole panel.
    columns: Range<usize>,
    finish: F,
}

impl<F: Finish> Kernel for InPlace<'_, F> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { x, rows, weight, columns, finish } = self;
        let rows = Rows::new(x, weight.depth(), rows, weight.depth());
        let panels = &weight.panels()[columns.start * weight.depth()..];
        multiply(simd, rows, panels, columns.len(), &mut Direct { finish, first: columns.start });
    }
}

/// The epilogue of a product in f32.
struct Direct<F> {
    finish: F,
    /// The first column.
    first: usize,
}

impl<F: Finish> Epilogue for Direct<F> {
    type Product = Floats;

    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, sums: S::F32) {
        // SAFETY: the row is the product's, and so is the column after the first one.
        unsafe { self.finish.store(simd, row, self.first + column, count, sums) }
    }
}

/// A value of the rows and panels of a weight's product.
type Value<W> = <<W as Reduced>::Product as Product>::Value;

/// A weight `[columns, depth]` in less than f32.
pub(crate) trait Reduced {
    /// How it is multiplied.
    type Product: Product;
    /// What the conversion of a row leaves for its sums.
    type Conversion: Copy + Default;

    /// The weight; its depth is counted in values of the product.
    fn packed(&self) -> &Packed<Value<Self>>;

    /// Numbers of a row.
    fn depth(&self) -> usize;

    /// Converts a row of the input into `values`, whole vectors that have room for it, and writes zeros
    /// beyond it.
    fn convert<S: Simd>(simd: S, row: &[f32], values: &mut [Value<Self>]) -> Self::Conversion;

    /// Converts the sums of a row for sixteen columns from `column` into products.
    ///
    /// # Safety
    /// `column` is within the packed columns.
    unsafe fn numbers<S: Simd>(
        &self,
        simd: S,
        row: Self::Conversion,
        column: usize,
        sums: Sums<Self::Product, S>,
    ) -> S::F32;
}

/// The product in less than f32.
struct Converted<'a, W: Reduced, F> {
    x: &'a [f32],
    rows: usize,
    weight: &'a W,
    /// From a whole panel.
    columns: Range<usize>,
    values: &'a mut AlignedBuffer<Value<W>>,
    finish: F,
}

impl<W: Reduced, F: Finish> Kernel for Converted<'_, W, F> {
    type Output = ();
    type Product = W::Product;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { x, rows, weight, columns, values, finish } = self;
        let (packed, depth) = (weight.packed(), weight.depth());
        let stride = stride(packed.depth());
        values.grow(BLOCK.min(rows) * stride);
        let panels = &packed.panels()[columns.start * packed.depth()..];
        let mut finish = FinishConverted {
            finish,
            weight,
            first_row: 0,
            first_column: columns.start,
            conversions: [W::Conversion::default(); BLOCK],
        };
        for first in (0..rows).step_by(BLOCK) {
            let count = BLOCK.min(rows - first);
            let block = x[first * depth..(first + count) * depth].chunks_exact(depth);
            let targets = values.as_mut_slice().chunks_exact_mut(stride);
            for ((row, target), conversion) in block.zip(targets).zip(&mut finish.conversions) {
                *conversion = W::convert(simd, row, target);
            }
            finish.first_row = first;
            let block = Rows::new(values.as_slice(), stride, count, packed.depth());
            multiply(simd, block, panels, columns.len(), &mut finish);
        }
    }
}

/// The epilogue of a block of converted rows.
struct FinishConverted<'a, W: Reduced, F> {
    finish: F,
    weight: &'a W,
    first_row: usize,
    first_column: usize,
    conversions: [W::Conversion; BLOCK],
}

impl<W: Reduced, F: Finish> Epilogue for FinishConverted<'_, W, F> {
    type Product = W::Product;

    #[inline(always)]
    unsafe fn store<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        count: usize,
        sums: Sums<W::Product, S>,
    ) {
        let column = self.first_column + column;
        // SAFETY: the column is the weight's, and the row, which is the block's, is the product's after the
        // block's first.
        unsafe {
            let products = self.weight.numbers(simd, self.conversions[row], column, sums);
            self.finish.store(simd, self.first_row + row, column, count, products);
        }
    }
}
