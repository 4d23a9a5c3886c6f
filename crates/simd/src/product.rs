//! What a matrix product multiplies: numbers of f32, pairs of bf16, or four bytes at a time.
//!
//! All are words of four bytes in memory, so that one register tile ([`crate::tile`]) serves them all.

use crate::Simd;
use crate::word::Word;

/// A kind of multiply-add.
pub trait Product {
    /// What is multiplied: one number, two, or four.
    type Value: Word;
    /// What the products add up to.
    type Sum: Word;
    /// Whether instructions for bytes speed the products up: VNNI, or Arm's dot products.
    const IS_BYTES: bool = false;
    /// Whether AVX512-BF16 speeds the products up.
    const IS_PAIRS: bool = false;

    /// `sums + row * packed`.
    fn multiply_add<S: Simd>(
        simd: S,
        row: Values<Self, S>,
        packed: Values<Self, S>,
        sums: Sums<Self, S>,
    ) -> Sums<Self, S>;
}

/// Sixteen values of a product.
pub type Values<P, S> = <<P as Product>::Value as Word>::Vector<S>;

/// Sixteen sums of a product.
pub type Sums<P, S> = <<P as Product>::Sum as Word>::Vector<S>;

/// Numbers of f32, multiplied and added with one rounding.
#[derive(Clone, Copy)]
pub struct Floats;

impl Product for Floats {
    type Value = f32;
    type Sum = f32;

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, row: S::F32, packed: S::F32, sums: S::F32) -> S::F32 {
        simd.fma(row, packed, sums)
    }
}

/// Four bytes at a time, signed in the rows and unsigned in the packed matrix; the sums are exact.
#[derive(Clone, Copy)]
pub struct Bytes;

impl Product for Bytes {
    type Value = i32;
    type Sum = i32;
    const IS_BYTES: bool = true;

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, row: S::I32, packed: S::I32, sums: S::I32) -> S::I32 {
        simd.dot(sums, packed, row)
    }
}

/// Two numbers of bf16 at a time, the first in the lower half of a value; the sums are f32.
#[derive(Clone, Copy)]
pub struct Pairs;

impl Product for Pairs {
    type Value = i32;
    type Sum = f32;
    const IS_PAIRS: bool = true;

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, row: S::I32, packed: S::I32, sums: S::F32) -> S::F32 {
        simd.dot_pairs(sums, row, packed)
    }
}
