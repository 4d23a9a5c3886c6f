//! Stored vectors as rows of f32, and what is computed of a row alone.

use std::ops::Range;

use half::{bf16, f16};
use toller_simd::prefetch::prefetch;
use toller_simd::tile::AlignedBuffer;
use toller_simd::word::for_each_vector;
use toller_simd::{DoubleLanes, LANES, Lanes, Simd};

use crate::collection::Vectors;

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;

/// The numbers `range` of `vectors` in f32, which is exact: in place if stored in f32, else in `buffer`.
#[inline(always)]
pub(crate) fn widened<'a, S: Lanes>(
    simd: S,
    vectors: Vectors<'a>,
    range: Range<usize>,
    buffer: &'a mut AlignedBuffer,
) -> &'a [f32] {
    if let Vectors::F32(values) = vectors {
        return &values[range];
    }
    let len = range.len();
    buffer.grow(len);
    widen(simd, vectors, range, buffer.as_mut_slice());
    &buffer.as_slice()[..len]
}

/// The numbers `range` of `vectors` rounded to f16, in f32.
#[inline(always)]
pub(crate) fn halved<'a, S: Lanes>(
    simd: S,
    vectors: Vectors<'a>,
    range: Range<usize>,
    buffer: &'a mut AlignedBuffer,
) -> &'a [f32] {
    let len = range.len();
    buffer.grow(len);
    widen(simd, vectors, range, buffer.as_mut_slice());
    if !matches!(vectors, Vectors::F16(_)) {
        let lines = len.div_ceil(LANES);
        for line in buffer.as_mut_slice().chunks_exact_mut(LANES).take(lines) {
            // SAFETY: a line is sixteen values.
            unsafe { simd.store(line.as_mut_ptr(), simd.round_f16(simd.load(line.as_ptr()))) };
        }
    }
    &buffer.as_slice()[..len]
}

/// The rows `rows` of `vectors`, of `dim` numbers, one after the other in f32.
#[inline(always)]
pub(crate) fn gathered<'a, S: Lanes>(
    simd: S,
    vectors: Vectors<'_>,
    dim: usize,
    rows: impl ExactSizeIterator<Item = usize>,
    buffer: &'a mut AlignedBuffer,
) -> &'a [f32] {
    let len = rows.len() * dim;
    // Room for the last sixteen of a row to go beyond its end; the next row overwrites what is there.
    buffer.grow(len + LANES);
    for (at, row) in rows.enumerate() {
        widen(simd, vectors, row * dim..(row + 1) * dim, &mut buffer.as_mut_slice()[at * dim..]);
    }
    &buffer.as_slice()[..len]
}

/// Writes the numbers `range` of `vectors` to the start of `to`, and zeros up to whole vectors.
#[inline(always)]
fn widen<S: Lanes>(simd: S, vectors: Vectors<'_>, range: Range<usize>, to: &mut [f32]) {
    match vectors {
        Vectors::F32(values) => {
            // SAFETY: the array holds sixteen values.
            let load = |from: &[f32; LANES]| unsafe { simd.load(from.as_ptr()) };
            convert(simd, &values[range], to, 0.0, load);
        }
        Vectors::F16(values) => {
            // SAFETY: the array holds sixteen values.
            let load = |from: &[f16; LANES]| unsafe { simd.load_f16(from.as_ptr()) };
            convert(simd, &values[range], to, f16::ZERO, load);
        }
        Vectors::BF16(values) => {
            // SAFETY: the array holds sixteen values.
            let load = |from: &[bf16; LANES]| unsafe { simd.load_bf16(from.as_ptr()) };
            convert(simd, &values[range], to, bf16::ZERO, load);
        }
    }
}

/// Asks the cache for the numbers `range` of `vectors`.
pub(crate) fn prefetch_row(vectors: Vectors<'_>, range: Range<usize>) {
    vectors.bytes(range).chunks(LINE_BYTES).for_each(|line| prefetch(line.as_ptr()));
}

/// Writes `from`, padded with zeros to whole vectors, to the start of `to`.
#[inline(always)]
fn convert<S: Lanes, T: Copy>(
    simd: S,
    from: &[T],
    to: &mut [f32],
    zero: T,
    load: impl Fn(&[T; LANES]) -> S::F32,
) {
    assert!(to.len() >= from.len().next_multiple_of(LANES), "room for whole vectors");
    let (whole, rest) = from.as_chunks::<LANES>();
    let mut out = to.chunks_exact_mut(LANES);
    for (from, to) in whole.iter().zip(&mut out) {
        // SAFETY: a chunk is sixteen values.
        unsafe { simd.store(to.as_mut_ptr(), load(from)) };
    }
    if let (false, Some(to)) = (rest.is_empty(), out.next()) {
        let mut last = [zero; LANES];
        last[..rest.len()].copy_from_slice(rest);
        // SAFETY: a chunk is sixteen values.
        unsafe { simd.store(to.as_mut_ptr(), load(&last)) };
    }
}

/// An upper bound of the sums of squares of the rows of `rows` `[rows, dim]`, as the fast pass computes them
/// (one chain of fused multiply-adds a lane, then halves: at most `dim / 16 + 5` operations).
///
/// The lanes' maxima over all rows are added up, instead of the lanes of each row. Rounding is monotone, so
/// the result is no smaller than that of any row, and it costs one operation a row.
#[inline(always)]
pub(crate) fn largest_square<S: Simd>(simd: S, rows: &[f32], dim: usize) -> f32 {
    let mut largest = simd.splat(0.0);
    for row in rows.chunks_exact(dim) {
        let mut sums = simd.splat(0.0);
        for_each_vector(simd, row, |_, x| sums = simd.fma(x, x, sums));
        largest = simd.max(sums, largest);
    }
    simd.sum(largest)
}

/// The score of `vector`: the inner product in f64, in the fixed order (see [`crate::ip_topk`]), rounded.
#[inline(always)]
pub(crate) fn score<S: DoubleLanes>(simd: S, query: &[f32], vector: &[f32]) -> f32 {
    assert_eq!(query.len(), vector.len(), "vectors of one dimension");
    let mut sums = simd.widen(simd.splat(0.0));
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let (vectors, vector_rest) = vector.as_chunks::<LANES>();
    for (q, x) in queries.iter().zip(vectors) {
        // SAFETY: a chunk is sixteen values.
        let (q, x) = unsafe { (simd.load(q.as_ptr()), simd.load(x.as_ptr())) };
        sums = simd.add_product(simd.widen(q), simd.widen(x), sums);
    }
    if !query_rest.is_empty() {
        let count = query_rest.len();
        // SAFETY: both rests have `count` values, fewer than sixteen.
        let (q, x) = unsafe {
            (simd.load_part(query_rest.as_ptr(), count), simd.load_part(vector_rest.as_ptr(), count))
        };
        sums = simd.add_product(simd.widen(q), simd.widen(x), sums);
    }
    simd.sum_f64(sums) as f32
}
