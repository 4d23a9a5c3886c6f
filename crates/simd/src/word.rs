//! What vectors in memory are made of: words of four bytes.

use crate::{LANES, Simd};

/// Four bytes of a matrix: f32, or i32 for a sum, a pair of bf16 or four bytes.
pub trait Word: Copy + Default {
    /// Sixteen words.
    type Vector<S: Simd>: Copy;

    /// Loads sixteen words.
    ///
    /// # Safety
    /// `from` is valid for reading sixteen words.
    unsafe fn load<S: Simd>(simd: S, from: *const Self) -> Self::Vector<S>;
    /// Stores sixteen words.
    ///
    /// # Safety
    /// `to` is valid for writing sixteen words.
    #[inline(always)]
    unsafe fn store<S: Simd>(simd: S, to: *mut Self, vector: Self::Vector<S>) {
        // SAFETY: the caller guarantees room for sixteen words.
        unsafe { to.cast::<[Self; LANES]>().write_unaligned(Self::to_array(simd, vector)) }
    }
    /// A word in all lanes.
    fn splat<S: Simd>(simd: S, word: Self) -> Self::Vector<S>;
    /// Loads fewer than sixteen words; the other lanes are zero.
    #[inline(always)]
    fn load_part<S: Simd>(simd: S, words: &[Self]) -> Self::Vector<S> {
        let mut padded = [Self::default(); LANES];
        padded[..words.len()].copy_from_slice(words);
        // SAFETY: the array holds sixteen words.
        unsafe { Self::load(simd, padded.as_ptr()) }
    }
    /// The lanes as an array, lane 0 first.
    fn to_array<S: Simd>(simd: S, vector: Self::Vector<S>) -> [Self; LANES];
    /// The sum of the lanes.
    fn sum<S: Simd>(simd: S, vector: Self::Vector<S>) -> Self;
}

impl Word for f32 {
    type Vector<S: Simd> = S::F32;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const f32) -> S::F32 {
        // SAFETY: the caller guarantees sixteen words.
        unsafe { simd.load(from) }
    }

    #[inline(always)]
    fn load_part<S: Simd>(simd: S, words: &[f32]) -> S::F32 {
        assert!(words.len() <= LANES, "no more words than lanes");
        // SAFETY: the slice holds its length of words, at most sixteen.
        unsafe { simd.load_part(words.as_ptr(), words.len()) }
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, word: f32) -> S::F32 {
        simd.splat(word)
    }

    #[inline(always)]
    fn to_array<S: Simd>(simd: S, vector: S::F32) -> [f32; LANES] {
        simd.to_array(vector)
    }

    #[inline(always)]
    fn sum<S: Simd>(simd: S, vector: S::F32) -> f32 {
        simd.sum(vector)
    }
}

impl Word for i32 {
    type Vector<S: Simd> = S::I32;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const i32) -> S::I32 {
        // SAFETY: the caller guarantees sixteen words.
        unsafe { simd.load_i32(from) }
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, word: i32) -> S::I32 {
        simd.splat_i32(word)
    }

    #[inline(always)]
    fn to_array<S: Simd>(simd: S, vector: S::I32) -> [i32; LANES] {
        simd.to_array_i32(vector)
    }

    #[inline(always)]
    fn sum<S: Simd>(simd: S, vector: S::I32) -> i32 {
        simd.sum_i32(vector)
    }
}

/// Calls `visit` with the position and the vector of every sixteen words of `row`; zeros fill the last.
#[inline(always)]
pub fn for_each_vector<S: Simd, W: Word>(simd: S, row: &[W], mut visit: impl FnMut(usize, W::Vector<S>)) {
    let (whole, rest) = row.as_chunks::<LANES>();
    for (i, words) in whole.iter().enumerate() {
        // SAFETY: a chunk is sixteen words.
        visit(i * LANES, unsafe { W::load(simd, words.as_ptr()) });
    }
    if !rest.is_empty() {
        visit(whole.len() * LANES, W::load_part(simd, rest));
    }
}
