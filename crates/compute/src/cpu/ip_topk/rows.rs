//! Stored vectors as rows of f32, and what is computed of a row alone.

use std::ops::Range;

use half::{bf16, f16};

use crate::Vectors;
use crate::cpu::prefetch::prefetch;
use crate::cpu::tile::AlignedBuffer;
use crate::simd::{LANES, Simd};

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;

/// How many numbers ahead of the stream memory is asked for.
const AHEAD: usize = 1024;

/// The numbers `range` of `vectors` in f32, which is exact: in place if they are stored so, else in `buffer`.
#[inline(always)]
pub(crate) fn widened<'a, S: Simd>(
    simd: S,
    vectors: Vectors<'a>,
    range: Range<usize>,
    buffer: &'a mut AlignedBuffer,
) -> &'a [f32] {
    let len = range.len();
    match vectors {
        Vectors::F32(values) => return &values[range],
        Vectors::F16(values) => {
            buffer.grow(len);
            // SAFETY: passed on: the pointer is valid for sixteen values.
            let load = |from: &[f16; LANES]| unsafe { simd.load_f16(from.as_ptr()) };
            convert(simd, &values[range], buffer.as_mut_slice(), f16::ZERO, load);
        }
        Vectors::BF16(values) => {
            buffer.grow(len);
            // SAFETY: as above.
            let load = |from: &[bf16; LANES]| unsafe { simd.load_bf16(from.as_ptr()) };
            convert(simd, &values[range], buffer.as_mut_slice(), bf16::ZERO, load);
        }
    }
    &buffer.as_slice()[..len]
}

/// Asks for the numbers `range` of `vectors` to be brought to the cache.
pub(crate) fn prefetch_row(vectors: Vectors<'_>, range: Range<usize>) {
    fn lines<T>(row: &[T]) {
        row.chunks(LINE_BYTES / size_of::<T>()).for_each(|line| prefetch(line.as_ptr()));
    }
    match vectors {
        Vectors::F32(values) => lines(&values[range]),
        Vectors::F16(values) => lines(&values[range]),
        Vectors::BF16(values) => lines(&values[range]),
    }
}

/// Writes `from`, padded with zeros to whole vectors, to the start of `to`.
#[inline(always)]
fn convert<S: Simd, T: Copy>(
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
        // SAFETY: as above.
        unsafe { simd.store(to.as_mut_ptr(), load(&last)) };
    }
}

/// An upper bound of the sums of squares of the rows of `rows` `[rows, dim]`, as the fast pass computes
/// them (one chain of fused multiply-adds a lane, then halves: at most `dim / 16 + 5` operations).
///
/// The lanes' maxima over all rows are added up, instead of each row's lanes: rounding is monotone, so the
/// result is no smaller than any row's, and it costs one operation a row.
#[inline(always)]
pub(crate) fn largest_square<S: Simd>(simd: S, rows: &[f32], dim: usize) -> f32 {
    let mut largest = simd.splat(0.0);
    for row in rows.chunks_exact(dim) {
        let mut sums = simd.splat(0.0);
        for_each_vector(simd, row, |at, x| {
            prefetch(row.as_ptr().wrapping_add(at + AHEAD));
            sums = simd.fma(x, x, sums);
        });
        largest = simd.max(sums, largest);
    }
    simd.sum(largest)
}

/// The inner products of one row with `QUERIES` queries, `queries` being `[QUERIES, stride]` and zero from
/// `row.len()` on: at most `dim / 16 + 5` operations.
#[inline(always)]
pub(crate) fn inner_products<S: Simd, const QUERIES: usize>(
    simd: S,
    row: &[f32],
    queries: &[f32],
    stride: usize,
) -> [f32; QUERIES] {
    assert!(
        stride >= row.len().next_multiple_of(LANES) && queries.len() >= QUERIES * stride,
        "padded queries"
    );
    let mut sums = [simd.splat(0.0); QUERIES];
    for_each_vector(simd, row, |at, x| {
        for (query, sum) in sums.iter_mut().enumerate() {
            // SAFETY: `at` is at most the last multiple of sixteen below `row.len()`, hence at most
            // `stride - 16`; `queries` holds `QUERIES * stride` values, as asserted.
            let q = unsafe { simd.load(queries.as_ptr().add(query * stride + at)) };
            *sum = simd.fma(q, x, *sum);
        }
    });
    sums.map(|sum| simd.sum(sum))
}

/// The score of `vector`: the inner product in f64, in the fixed order (see [`crate::ip_topk`]), rounded.
#[inline(always)]
pub(crate) fn score<S: Simd>(simd: S, query: &[f32], vector: &[f32]) -> f32 {
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

/// Calls `visit` with the place and the values of every sixteen numbers of `row`; zeros fill the last.
#[inline(always)]
fn for_each_vector<S: Simd>(simd: S, row: &[f32], mut visit: impl FnMut(usize, S::F32)) {
    let (whole, rest) = row.as_chunks::<LANES>();
    for (i, values) in whole.iter().enumerate() {
        // SAFETY: a chunk is sixteen values.
        visit(i * LANES, unsafe { simd.load(values.as_ptr()) });
    }
    if !rest.is_empty() {
        // SAFETY: `rest` has fewer than sixteen values.
        visit(whole.len() * LANES, unsafe { simd.load_part(rest.as_ptr(), rest.len()) });
    }
}
