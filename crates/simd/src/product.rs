//! What a matrix product multiplies: numbers of f32, pairs of bf16, or four bytes at a time.
//!
//! All are values of four bytes in memory and sixteen of them are a vector, so that one register tile
//! ([`super::tile`]) serves them.

use crate::Simd;

/// A kind of multiply-add.
pub trait Product {
    /// Four bytes of a row: one number, two, or four.
    type Value: Copy + Default;
    /// Sixteen values.
    type Lanes<S: Simd>: Copy;
    /// Sixteen sums of products.
    type Sums<S: Simd>: Copy;

    /// Sums of nothing.
    fn zero<S: Simd>(simd: S) -> Self::Sums<S>;
    /// Loads sixteen values of a packed matrix.
    ///
    /// # Safety
    /// `from` is valid for reading sixteen values.
    unsafe fn load<S: Simd>(simd: S, from: *const Self::Value) -> Self::Lanes<S>;
    /// A row's value in all lanes.
    fn splat<S: Simd>(simd: S, value: Self::Value) -> Self::Lanes<S>;
    /// `sums + row * packed`.
    fn multiply_add<S: Simd>(
        simd: S,
        row: Self::Lanes<S>,
        packed: Self::Lanes<S>,
        sums: Self::Sums<S>,
    ) -> Self::Sums<S>;
}

/// Numbers of f32, multiplied and added with one rounding.
#[derive(Clone, Copy)]
pub struct Numbers;

impl Product for Numbers {
    type Value = f32;
    type Lanes<S: Simd> = S::F32;
    type Sums<S: Simd> = S::F32;

    #[inline(always)]
    fn zero<S: Simd>(simd: S) -> S::F32 {
        simd.splat(0.0)
    }

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const f32) -> S::F32 {
        // SAFETY: the caller vouches for sixteen values.
        unsafe { simd.load(from) }
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: f32) -> S::F32 {
        simd.splat(value)
    }

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
    type Lanes<S: Simd> = S::I32;
    type Sums<S: Simd> = S::I32;

    #[inline(always)]
    fn zero<S: Simd>(simd: S) -> S::I32 {
        simd.splat_i32(0)
    }

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const i32) -> S::I32 {
        // SAFETY: the caller vouches for sixteen values.
        unsafe { simd.load_i32(from) }
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: i32) -> S::I32 {
        simd.splat_i32(value)
    }

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
    type Lanes<S: Simd> = S::I32;
    type Sums<S: Simd> = S::F32;

    #[inline(always)]
    fn zero<S: Simd>(simd: S) -> S::F32 {
        simd.splat(0.0)
    }

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const i32) -> S::I32 {
        // SAFETY: the caller vouches for sixteen values.
        unsafe { simd.load_i32(from) }
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: i32) -> S::I32 {
        simd.splat_i32(value)
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, row: S::I32, packed: S::I32, sums: S::F32) -> S::F32 {
        simd.dot_pairs(sums, row, packed)
    }
}
