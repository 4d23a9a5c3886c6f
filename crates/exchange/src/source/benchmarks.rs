//! The float32 files of benchmarks of approximate search. Neither format has a magic number.
//!
//! `fbin` (Big ANN Benchmarks, DiskANN, cuVS): the number of vectors and their dimension (u32 each), and the
//! numbers row by row. `fvecs` (TEXMEX): each row is its dimension (i32) and its numbers. All little-endian.

use std::path::Path;

use crate::mapped::Mapped;
use crate::matrix::Matrix;
use crate::{ExchangeError, NumberType, VectorFormat};

/// Opens an `fbin` file.
pub(super) fn fbin(path: &Path) -> Result<Matrix, ExchangeError> {
    let file = Mapped::open(path)?;
    let (extents, _) = file.bytes().as_chunks::<4>();
    let &[rows, dim, ..] = extents else { return Err(cut(path, VectorFormat::Fbin)) };
    let extents = [rows, dim].map(|extent| u32::from_le_bytes(extent) as usize);
    Matrix::new(file, VectorFormat::Fbin, 2 * size_of::<u32>(), extents, NumberType::F32)?.at_end()
}

/// Opens an `fvecs` file. Reads the length of every row.
pub(super) fn fvecs(path: &Path) -> Result<Matrix, ExchangeError> {
    let file = Mapped::open(path)?;
    let invalid =
        |reason| ExchangeError::Invalid { path: path.to_owned(), format: VectorFormat::Fvecs, reason };
    let &head = file.bytes().first_chunk().ok_or_else(|| cut(path, VectorFormat::Fvecs))?;
    let dim = i32::from_le_bytes(head);
    let dim = usize::try_from(dim).map_err(|_| invalid(format!("its first vector has {dim} numbers")))?;
    let found = file.bytes().len();
    let row = size_of::<i32>() + dim * NumberType::F32.size();
    let rows = found.div_ceil(row);
    if found != rows * row {
        return Err(ExchangeError::Length {
            path: path.to_owned(),
            expected: (rows * row) as u64,
            found: found as u64,
        });
    }
    let matrix =
        Matrix::with_heads(file, VectorFormat::Fvecs, 0, [rows, dim], NumberType::F32, size_of::<i32>())?;
    match (1..rows).find(|&row| matrix.row_parts(row).0 != head) {
        Some(row) => Err(invalid(format!("vector {} does not have {dim} numbers as the first one", row + 1))),
        None => Ok(matrix),
    }
}

fn cut(path: &Path, format: VectorFormat) -> ExchangeError {
    ExchangeError::Invalid { path: path.to_owned(), format, reason: "it ends within its header".to_owned() }
}
