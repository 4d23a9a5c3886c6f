//! Vectors stored one after the other in a file: NumPy's and FAISS's.

use std::ops::Range;

use crate::mapped::Mapped;
use crate::{ExchangeError, NumberType, VectorFormat};

/// A matrix [rows, dim] in a mapped file.
pub(crate) struct Matrix {
    pub(crate) file: Mapped,
    pub(crate) rows: usize,
    pub(crate) dim: usize,
    pub(crate) numbers: NumberType,
    /// The bytes of the numbers: as many as the extents say, within the file.
    place: Range<usize>,
}

impl Matrix {
    /// The matrix that begins at `start`.
    pub(crate) fn new(
        file: Mapped,
        format: VectorFormat,
        start: usize,
        [rows, dim]: [usize; 2],
        numbers: NumberType,
    ) -> Result<Self, ExchangeError> {
        if dim == 0 {
            let reason = "its vectors have no numbers".to_owned();
            return Err(ExchangeError::Invalid { path: file.path, format, reason });
        }
        let bytes = rows.checked_mul(dim).and_then(|count| count.checked_mul(numbers.size()));
        let end = bytes.and_then(|bytes| start.checked_add(bytes));
        match end.filter(|&end| end <= file.bytes().len()) {
            Some(end) => Ok(Self { place: start..end, file, rows, dim, numbers }),
            None => {
                let expected = end.map_or(u64::MAX, |end| end as u64);
                Err(ExchangeError::Length { expected, found: file.bytes().len() as u64, path: file.path })
            }
        }
    }

    /// Where the matrix ends in the file.
    pub(crate) fn end(&self) -> usize {
        self.place.end
    }

    fn row_bytes(&self) -> usize {
        self.dim * self.numbers.size()
    }

    /// Replaces the content of `out` with row `row`, which must be below [`Matrix::rows`].
    pub(crate) fn row(&self, row: usize, out: &mut Vec<f32>) {
        let start = self.place.start + row * self.row_bytes();
        self.numbers.decode(&self.file.bytes()[start..start + self.row_bytes()], out);
    }
}
