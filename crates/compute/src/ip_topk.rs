//! The exact top-k inner product: what is searched, what can be wrong, and the operation.

use half::{bf16, f16};
use toller_ir::{DocOrd, Ranking};

use crate::cpu;
use crate::simd::Isa;

/// Vectors as they are stored, row after row.
#[derive(Clone, Copy, Debug)]
pub enum Vectors<'a> {
    /// IEEE 754 binary32.
    F32(&'a [f32]),
    /// IEEE 754 binary16.
    F16(&'a [f16]),
    /// bfloat16.
    BF16(&'a [bf16]),
}

/// Vectors whose ordinals follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The ordinal of the first vector.
    pub first: DocOrd,
    /// `[rows, dim]`; the numbers are finite.
    pub vectors: Vectors<'a>,
}

/// Everything that a search looks at: the segments of a store, or of several.
///
/// Numbers are taken to be finite (a store holds no others). Where they are not, scores mean nothing, but
/// nothing else breaks.
#[derive(Clone, Debug)]
pub struct Collection<'a> {
    dim: usize,
    /// Ordinals ascend.
    segments: Vec<Segment<'a>>,
    rows: usize,
}

/// Why a search cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IpTopkError {
    /// No hits were asked for.
    #[error("k is 0")]
    ZeroK,
    /// Vectors without numbers.
    #[error("the dimension is 0")]
    ZeroDim,
    /// A segment that is no whole number of vectors.
    #[error("segment {segment} holds {len} numbers, not a whole number of vectors of dimension {dim}")]
    SegmentShape {
        /// Which segment, from zero.
        segment: usize,
        /// How many numbers it holds.
        len: usize,
        /// The dimension of the collection.
        dim: usize,
    },
    /// A segment whose ordinals do not follow those of the segment before, or exceed 32 bits.
    #[error(
        "segment {segment} begins at ordinal {first}, expected at least {expected} and an end below 2^32"
    )]
    SegmentOrder {
        /// Which segment, from zero.
        segment: usize,
        /// Its first ordinal.
        first: u32,
        /// One past the last ordinal of the segment before.
        expected: u64,
    },
    /// Queries that are no whole number of vectors.
    #[error(
        "the queries hold {len} numbers, not a whole number of vectors of the collection's dimension {dim}"
    )]
    QueryShape {
        /// How many numbers were given.
        len: usize,
        /// The dimension of the collection.
        dim: usize,
    },
    /// A query with a number that has no order among scores.
    #[error("query {query} is not finite: number {column} is {value}")]
    QueryNotFinite {
        /// Which query, from zero.
        query: usize,
        /// Which of its numbers, from zero.
        column: usize,
        /// NaN or an infinity.
        value: f32,
    },
}

impl IpTopkError {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::ZeroK => "ask for at least one hit, for instance `--k 1000`",
            Self::QueryShape { .. } => "encode the queries with the model that encoded the collection",
            Self::QueryNotFinite { .. } => "the model overflows on this query: compute with `--dtype f32`",
            Self::ZeroDim | Self::SegmentShape { .. } | Self::SegmentOrder { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

impl Vectors<'_> {
    /// The number of numbers.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F16(values) => values.len(),
            Self::BF16(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> Collection<'a> {
    /// Vectors of `dim` numbers in `segments`, whose ordinals ascend (gaps are allowed).
    ///
    /// # Errors
    /// [`IpTopkError::ZeroDim`], [`IpTopkError::SegmentShape`], [`IpTopkError::SegmentOrder`].
    pub fn new(dim: usize, segments: Vec<Segment<'a>>) -> Result<Self, IpTopkError> {
        if dim == 0 {
            return Err(IpTopkError::ZeroDim);
        }
        let (mut rows, mut expected) = (0, 0);
        for (index, segment) in segments.iter().enumerate() {
            let len = segment.vectors.len();
            if !len.is_multiple_of(dim) {
                return Err(IpTopkError::SegmentShape { segment: index, len, dim });
            }
            let first = u64::from(segment.first.0);
            let end = first + (len / dim) as u64;
            if first < expected || end > 1 << 32 {
                return Err(IpTopkError::SegmentOrder { segment: index, first: segment.first.0, expected });
            }
            rows += len / dim;
            expected = end;
        }
        Ok(Self { dim, segments, rows })
    }

    /// Numbers in a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of vectors.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The segments, ordinals ascending.
    #[must_use]
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    /// The segment of a vector, and its place there.
    ///
    /// # Panics
    /// When no segment holds `doc`.
    pub(crate) fn locate(&self, doc: DocOrd) -> (&Segment<'a>, usize) {
        let next = self.segments.partition_point(|segment| segment.first <= doc);
        let segment = &self.segments[next - 1];
        (segment, doc.index() - segment.first.index())
    }
}

/// The `k` vectors of the largest inner product with each query, in the order of [`toller_ir::Hit`];
/// all of them where there are fewer than `k`. `queries` is `[queries, dim]`.
///
/// A score is the inner product in f64, accumulated in one fixed order (number `i` goes to partial sum
/// `i % 16`, in ascending order; then the upper half of the partial sums is added to the lower half until
/// one is left) and rounded to f32 once; beyond the range of f32 it is infinite. So the hits have the same
/// bits on every CPU, for any batch of queries, any division into segments and any number of threads.
///
/// Runs on rayon's current thread pool. Besides the result it needs memory for a few times `k` candidates a
/// query and thread, of as many queries at a time as fit in some hundred MiB (at least one), whatever the
/// number of vectors.
///
/// # Errors
/// [`IpTopkError::ZeroK`], [`IpTopkError::QueryShape`], [`IpTopkError::QueryNotFinite`].
pub fn ip_topk(collection: &Collection<'_>, queries: &[f32], k: usize) -> Result<Vec<Ranking>, IpTopkError> {
    check(collection, queries, k)?;
    Ok(cpu::ip_topk::search(Isa::active(), collection, queries, k))
}

/// Checks what [`ip_topk`] is given.
pub(crate) fn check(collection: &Collection<'_>, queries: &[f32], k: usize) -> Result<(), IpTopkError> {
    let dim = collection.dim;
    if k == 0 {
        return Err(IpTopkError::ZeroK);
    }
    if !queries.len().is_multiple_of(dim) {
        return Err(IpTopkError::QueryShape { len: queries.len(), dim });
    }
    match queries.iter().position(|value| !value.is_finite()) {
        Some(at) => {
            Err(IpTopkError::QueryNotFinite { query: at / dim, column: at % dim, value: queries[at] })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
