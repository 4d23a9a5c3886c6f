//! Few queries: each row is multiplied with each query on its own.
//!
//! A register tile broadcasts every number of a row, which with sixteen queries to a vector is paid for; with
//! fewer, reading the row a vector at a time leaves memory as the bound.

use super::ahead::Ahead;
use toller_simd::product::Product;
use toller_simd::tile::AlignedBuffer;
use toller_simd::{LANES, Simd};

/// Up to so many queries are few. Not swept.
pub(crate) const FEW: usize = 4;

/// Queries as rows, each padded to whole vectors.
pub(crate) struct FewQueries<V> {
    values: AlignedBuffer<V>,
    stride: usize,
}

impl<V: Copy + Default> FewQueries<V> {
    /// `queries` is `[count, depth]`; `None` if they are not few.
    pub(crate) fn new(queries: &[V], depth: usize) -> Option<Self> {
        let stride = depth.next_multiple_of(LANES);
        let count = queries.len() / depth;
        if count > FEW {
            return None;
        }
        let mut values = AlignedBuffer::zeros(FEW * stride);
        for (to, from) in values.as_mut_slice().chunks_exact_mut(stride).zip(queries.chunks_exact(depth)) {
            to[..depth].copy_from_slice(from);
        }
        Some(Self { values, stride })
    }

    /// Calls `take` with each of the first `QUERIES` queries' sums of products with `row`, which is the
    /// `number`th of a block: sixteen partial sums.
    #[inline(always)]
    pub(crate) fn sums<S: Simd, P: Product<Value = V>, const QUERIES: usize>(
        &self,
        simd: S,
        row: &[V],
        number: usize,
        ahead: Ahead,
    ) -> [P::Sums<S>; QUERIES] {
        assert!(QUERIES <= FEW && row.len() <= self.stride, "as many queries as there is room for");
        let queries = self.values.as_slice().as_ptr();
        let mut sums = [P::zero(simd); QUERIES];
        let mut add = |at: usize, row: P::Lanes<S>| {
            for (query, sums) in sums.iter_mut().enumerate() {
                // SAFETY: `at` is a multiple of sixteen below `stride`; there are FEW queries of `stride`.
                let lanes = unsafe { P::load(simd, queries.add(query * self.stride + at)) };
                *sums = P::multiply_add(simd, row, lanes, *sums);
            }
        };
        let (whole, rest) = row.as_chunks::<LANES>();
        for (i, values) in whole.iter().enumerate() {
            ahead.at(number, 1, i * LANES);
            // SAFETY: a chunk is sixteen values.
            add(i * LANES, unsafe { P::load(simd, values.as_ptr()) });
        }
        if !rest.is_empty() {
            let mut values = [V::default(); LANES];
            values[..rest.len()].copy_from_slice(rest);
            // SAFETY: the array holds sixteen values.
            add(whole.len() * LANES, unsafe { P::load(simd, values.as_ptr()) });
        }
        sums
    }
}
