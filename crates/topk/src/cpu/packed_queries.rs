//! Queries as words, laid out for their products with rows.
//!
//! A register tile broadcasts every word of a row, which pays when sixteen queries fill a vector. Fewer
//! queries are multiplied with each row one by one: the row is then read in vectors, as fast as memory is.

use toller_simd::product::{Product, Sums, Values};
use toller_simd::tile::{AlignedBuffer, Packed};
use toller_simd::word::{Word, for_each_vector};
use toller_simd::{LANES, Simd};

use super::prefetch::NextBlock;

/// Up to this many queries are few. Not swept.
pub(crate) const FEW: usize = 4;

/// Queries as words.
pub(crate) struct PackedQueries<W> {
    panels: Packed<W>,
    few: Option<FewQueries<W>>,
}

/// Up to [`FEW`] queries as rows, each padded to whole vectors.
pub(crate) struct FewQueries<W> {
    words: AlignedBuffer<W>,
    stride: usize,
}

impl<W: Word> PackedQueries<W> {
    /// `queries` is `[count, depth]`.
    pub(crate) fn new(queries: &[W], depth: usize) -> Self {
        let panels = Packed::new(queries, queries.len() / depth, depth);
        Self { panels, few: FewQueries::new(queries, depth) }
    }

    /// How many queries there are.
    pub(crate) fn count(&self) -> usize {
        self.panels.columns()
    }

    /// Words of a query.
    pub(crate) fn depth(&self) -> usize {
        self.panels.depth()
    }

    /// The queries as panels of a matrix product.
    pub(crate) fn panels(&self) -> &[W] {
        self.panels.panels()
    }

    /// The queries as rows, if they are few.
    pub(crate) fn few(&self) -> Option<&FewQueries<W>> {
        self.few.as_ref()
    }
}

impl<W: Word> FewQueries<W> {
    fn new(queries: &[W], depth: usize) -> Option<Self> {
        let stride = depth.next_multiple_of(LANES);
        if queries.len() / depth > FEW {
            return None;
        }
        let mut words = AlignedBuffer::zeros(FEW * stride);
        for (to, from) in words.as_mut_slice().chunks_exact_mut(stride).zip(queries.chunks_exact(depth)) {
            to[..depth].copy_from_slice(from);
        }
        Some(Self { words, stride })
    }

    /// Sixteen partial sums of the products of a block's row `number` with each of `QUERIES` queries.
    #[inline(always)]
    pub(crate) fn sums<S: Simd, P: Product<Value = W>, const QUERIES: usize>(
        &self,
        simd: S,
        row: &[W],
        number: usize,
        next: NextBlock,
    ) -> [Sums<P, S>; QUERIES] {
        assert!(
            QUERIES <= FEW && row.len() <= self.stride,
            "the row of a block, and queries that there is room for"
        );
        let queries = self.words.as_slice().as_ptr();
        let mut sums = [P::Sum::splat(simd, Default::default()); QUERIES];
        for_each_vector(simd, row, |at, row: Values<P, S>| {
            next.prefetch(number, 1, at);
            for (query, sums) in sums.iter_mut().enumerate() {
                // SAFETY: `at` is a multiple of sixteen below `stride`, and there are FEW rows of `stride`
                // words.
                let words = unsafe { W::load(simd, queries.add(query * self.stride + at)) };
                *sums = P::multiply_add(simd, row, words, *sums);
            }
        });
        sums
    }
}
