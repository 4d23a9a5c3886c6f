//! What is searched: vectors as a store holds them, in segments.

use std::ops::Range;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use toller_ir::{DocOrd, Filter};

use crate::error::IpTopkError;

/// Vectors as they are stored, row after row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Vectors<'a> {
    /// IEEE 754 binary32.
    F32(&'a [f32]),
    /// IEEE 754 binary16.
    F16(&'a [f16]),
    /// bfloat16.
    BF16(&'a [bf16]),
}

/// Vectors with consecutive ordinals.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The ordinal of the first vector.
    pub first: DocOrd,
    /// `[rows, dim]`; the numbers are finite.
    pub vectors: Vectors<'a>,
    /// The same vectors in one byte a number, where the store has them.
    pub codes: Option<Codes<'a>>,
}

/// A segment's vectors rounded to one byte a number by [`crate::quantize`]: row `i` is about
/// `scales[i] * values[i]`, and no further from it than `residual_norms[i]`.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// `[rows, dim]`, each in -127..=127.
    pub values: &'a [i8],
    /// `[rows]`.
    pub scales: &'a [f32],
    /// `[rows]`: upper bounds of the lengths of the residuals, which rounding took away.
    pub residual_norms: &'a [f32],
}

/// All vectors that a search looks at: the segments of one or more stores.
///
/// Numbers are expected to be finite, as those of a store are. If not, scores mean nothing, that is all.
#[derive(Clone, Debug)]
pub struct Collection<'a> {
    dim: usize,
    /// Ordinals ascend.
    segments: Vec<Segment<'a>>,
    rows: usize,
}

impl<'a> Vectors<'a> {
    /// How many numbers there are.
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

    /// The numbers `range`.
    ///
    /// # Panics
    /// If `range` is out of bounds.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::F32(values) => Self::F32(&values[range]),
            Self::F16(values) => Self::F16(&values[range]),
            Self::BF16(values) => Self::BF16(&values[range]),
        }
    }

    /// Writes the numbers `range`, widened to f32, which is exact, to `out`.
    ///
    /// # Panics
    /// If `range` is out of bounds or not as long as `out`.
    pub fn widen(&self, range: Range<usize>, out: &mut [f32]) {
        match self {
            Self::F32(values) => out.copy_from_slice(&values[range]),
            Self::F16(values) => values[range].convert_to_f32_slice(out),
            Self::BF16(values) => values[range].convert_to_f32_slice(out),
        }
    }

    /// The numbers `range`, in f32.
    pub(crate) fn widened(&self, range: Range<usize>) -> Vec<f32> {
        let mut out = vec![0.0; range.len()];
        self.widen(range, &mut out);
        out
    }

    /// The bytes of the numbers.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes(0..self.len())
    }

    /// The bytes of the numbers `range`.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice(&values[range]),
            Self::F16(values) => bytemuck::cast_slice(&values[range]),
            Self::BF16(values) => bytemuck::cast_slice(&values[range]),
        }
    }
}

impl Segment<'_> {
    /// The vectors of `rows`, counted from the segment's first; each has `dim` numbers.
    ///
    /// # Panics
    /// If `rows` is out of bounds.
    #[must_use]
    pub fn of_rows(&self, rows: Range<usize>, dim: usize) -> Self {
        let numbers = rows.start * dim..rows.end * dim;
        let codes = self.codes.map(|codes| Codes {
            values: &codes.values[numbers.clone()],
            scales: &codes.scales[rows.clone()],
            residual_norms: &codes.residual_norms[rows.clone()],
        });
        // Ordinals have 32 bits, and these are the segment's own.
        Self { first: DocOrd(self.first.0 + rows.start as u32), vectors: self.vectors.slice(numbers), codes }
    }
}

impl<'a> Collection<'a> {
    /// Vectors of `dim` numbers in `segments`, whose ordinals ascend (there may be gaps).
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
            if let Some(codes) = &segment.codes
                && [codes.values.len(), codes.scales.len() * dim, codes.residual_norms.len() * dim]
                    != [len; 3]
            {
                return Err(IpTopkError::CodesShape { segment: index, rows: len / dim });
            }
            rows += len / dim;
            expected = end;
        }
        Ok(Self { dim, segments, rows })
    }

    /// Numbers of a vector.
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

    /// One more than the largest ordinal.
    pub(crate) fn ordinals(&self) -> usize {
        let end = |segment: &Segment<'_>| segment.first.index() + segment.vectors.len() / self.dim;
        self.segments.last().map_or(0, end)
    }

    /// Whether a vector has this ordinal.
    pub(crate) fn contains(&self, doc: DocOrd) -> bool {
        let next = self.segments.partition_point(|segment| segment.first <= doc);
        let before = next.checked_sub(1).and_then(|last| self.segments.get(last));
        before.is_some_and(|segment| doc.index() - segment.first.index() < segment.vectors.len() / self.dim)
    }

    /// The segment of a vector, and the vector's row in the segment.
    ///
    /// # Panics
    /// When no segment holds `doc`.
    pub(crate) fn locate(&self, doc: DocOrd) -> (&Segment<'a>, usize) {
        let next = self.segments.partition_point(|segment| segment.first <= doc);
        let segment = &self.segments[next - 1];
        (segment, doc.index() - segment.first.index())
    }

    /// Checks the arguments of a search.
    pub(crate) fn check_search(
        &self,
        queries: &[f32],
        k: usize,
        filter: &Filter<'_>,
    ) -> Result<(), IpTopkError> {
        let dim = self.dim;
        if k == 0 {
            return Err(IpTopkError::ZeroK);
        }
        if !queries.len().is_multiple_of(dim) {
            return Err(IpTopkError::QueryShape { len: queries.len(), dim });
        }
        let (lists, queries_count) = (filter.excluded.len(), queries.len() / dim);
        if lists != 0 && lists != queries_count {
            return Err(IpTopkError::ExclusionShape { lists, queries: queries_count });
        }
        match first_not_finite(queries) {
            Some(at) => {
                Err(IpTopkError::QueryNotFinite { query: at / dim, column: at % dim, value: queries[at] })
            }
            None => Ok(()),
        }
    }
}

/// The place of the first number that is not finite. Blocks are summed up first: a loop that may end anywhere
/// is not vectorized.
fn first_not_finite(numbers: &[f32]) -> Option<usize> {
    const BLOCK: usize = 1024;
    let has_any = |block: &[f32]| block.iter().fold(false, |any, number| any | !number.is_finite());
    let block = numbers.chunks(BLOCK).position(has_any)?;
    let within = numbers[block * BLOCK..].iter().position(|number| !number.is_finite())?;
    Some(block * BLOCK + within)
}
