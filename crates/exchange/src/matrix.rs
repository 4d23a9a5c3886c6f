//! Vectors stored one after the other in a file: NumPy's, FAISS's, and those of benchmarks.

use std::ops::Range;

use crate::mapped::Mapped;
use crate::{ExchangeError, NumberType, VectorFormat};

/// A matrix [rows, dim] in a mapped file.
pub(crate) struct Matrix {
    pub(crate) file: Mapped,
    pub(crate) rows: usize,
    pub(crate) dim: usize,
    pub(crate) numbers: NumberType,
    /// Bytes before the numbers of each row.
    head: usize,
    /// The bytes of the rows: as many as the extents say, within the file.
    place: Range<usize>,
}

impl Matrix {
    /// The matrix that begins at `start`.
    pub(crate) fn new(
        file: Mapped,
        format: VectorFormat,
        start: usize,
        extents: [usize; 2],
        numbers: NumberType,
    ) -> Result<Self, ExchangeError> {
        Self::with_heads(file, format, start, extents, numbers, 0)
    }

    /// As [`Matrix::new`], with `head` bytes before the numbers of each row.
    pub(crate) fn with_heads(
        file: Mapped,
        format: VectorFormat,
        start: usize,
        [rows, dim]: [usize; 2],
        numbers: NumberType,
        head: usize,
    ) -> Result<Self, ExchangeError> {
        if dim == 0 {
            let reason = "its vectors have no numbers".to_owned();
            return Err(ExchangeError::Invalid { path: file.path, format, reason });
        }
        let row = dim.checked_mul(numbers.size()).and_then(|bytes| bytes.checked_add(head));
        let bytes = row.and_then(|bytes| bytes.checked_mul(rows));
        let end = bytes.and_then(|bytes| start.checked_add(bytes));
        match end.filter(|&end| end <= file.bytes().len()) {
            Some(end) => Ok(Self { place: start..end, file, rows, dim, numbers, head }),
            None => {
                let expected = end.map_or(u64::MAX, |end| end as u64);
                Err(ExchangeError::Length { expected, found: file.bytes().len() as u64, path: file.path })
            }
        }
    }

    /// This matrix, if the file ends with it.
    pub(crate) fn at_end(self) -> Result<Self, ExchangeError> {
        let (expected, found) = (self.place.end as u64, self.file.bytes().len() as u64);
        match found == expected {
            true => Ok(self),
            false => Err(ExchangeError::Length { path: self.file.path, expected, found }),
        }
    }

    fn row_bytes(&self) -> usize {
        self.head + self.dim * self.numbers.size()
    }

    /// The bytes of row `row`, which must be below [`Matrix::rows`]: what precedes its numbers, and they.
    pub(crate) fn row_parts(&self, row: usize) -> (&[u8], &[u8]) {
        let start = self.place.start + row * self.row_bytes();
        self.file.bytes()[start..start + self.row_bytes()].split_at(self.head)
    }

    /// Replaces the content of `out` with row `row`, which must be below [`Matrix::rows`].
    pub(crate) fn row(&self, row: usize, out: &mut Vec<f32>) {
        self.numbers.decode(self.row_parts(row).1, out);
    }
}
