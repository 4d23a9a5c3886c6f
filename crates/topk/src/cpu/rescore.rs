//! The scores that are returned.

use toller_ir::DocOrd;
use toller_simd::product::Floats;
use toller_simd::tile::AlignedBuffer;
use toller_simd::{Kernel, Simd};

use super::rows::{prefetch_row, score, widened};
use crate::collection::Collection;

/// A vector and the query to score it for, in the order of the vectors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair(u64);

impl Pair {
    pub(crate) fn new(doc: DocOrd, query: usize) -> Self {
        // A group has fewer than 2^32 queries.
        Self(u64::from(doc.0) << 32 | query as u64)
    }

    pub(crate) fn doc(self) -> DocOrd {
        DocOrd((self.0 >> 32) as u32)
    }

    pub(crate) fn query(self) -> usize {
        self.0 as u32 as usize
    }
}

/// How many pairs ahead vectors are prefetched. They lie apart, so that each would wait for memory.
const AHEAD: usize = 4;

/// Scores pairs. Sorted pairs are quickest: a vector is then read once for all queries.
pub(crate) struct Scores<'a> {
    pub(crate) collection: &'a Collection<'a>,
    /// `[queries, dim]`.
    pub(crate) queries: &'a [f32],
    pub(crate) pairs: &'a [Pair],
    /// `[pairs]`.
    pub(crate) scores: &'a mut [f32],
}

impl Kernel for Scores<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { collection, queries, pairs, scores } = self;
        let dim = collection.dim();
        let place = |pair: Pair| {
            let (segment, row) = collection.locate(pair.doc());
            (segment.vectors, row * dim..(row + 1) * dim)
        };
        let mut buffer = AlignedBuffer::default();
        for (i, (pair, out)) in pairs.iter().zip(scores).enumerate() {
            if let Some(&next) = pairs.get(i + AHEAD) {
                let (vectors, numbers) = place(next);
                prefetch_row(vectors, numbers);
            }
            let (vectors, numbers) = place(*pair);
            let vector = widened(simd, vectors, numbers, &mut buffer);
            let query = pair.query() * dim..(pair.query() + 1) * dim;
            *out = score(simd, &queries[query], vector);
        }
    }
}
