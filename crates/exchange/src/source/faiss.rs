//! FAISS's flat indexes.
//!
//! Four letters name the kind. Then, little-endian: the dimension (i32), the number of vectors (i64), two
//! unused numbers (i64), whether it is trained (one byte), the metric (i32; 0 is the inner product, 1 is L2;
//! above 1 a float follows). In a flat index the count of its numbers (u64) and the numbers (f32) follow; in
//! an ID map the wrapped index, the count of the ids (u64) and the ids (i64).

use std::path::Path;

use toller_ir::{Setting, remedy};

use crate::mapped::Mapped;
use crate::matrix::Matrix;
use crate::{ExchangeError, NumberType, VectorFormat};

const METRIC_INNER_PRODUCT: i32 = 0;
const METRIC_L2: i32 = 1;

/// A flat index.
pub(super) struct Flat {
    pub(super) matrix: Matrix,
    /// Where the ids of an ID map begin.
    pub(super) ids: Option<usize>,
}

/// What every index begins with.
struct Head {
    kind: [u8; 4],
    dim: usize,
    rows: usize,
    metric: i32,
}

/// Opens the index in `path`.
pub(super) fn open(path: &Path, any_metric: bool) -> Result<Flat, ExchangeError> {
    let file = Mapped::open(path)?;
    let mut reader = Reader { path, bytes: file.bytes(), at: 0 };
    let outer = reader.head()?;
    let (flat, mapped) = match &outer.kind {
        b"IxMp" | b"IxM2" => (reader.head()?, true),
        _ => (outer, false),
    };
    if !matches!(&flat.kind, b"IxFI" | b"IxF2" | b"IxFl") {
        return Err(ExchangeError::Unsupported {
            path: path.to_owned(),
            what: format!("a FAISS index of kind {}, not a flat one", String::from_utf8_lossy(&flat.kind)),
            remedy: "export its vectors with `index.reconstruct_n()` to a .npy file; compressed indexes no longer \
                     have them exactly"
                .into(),
        });
    }
    if flat.metric != METRIC_INNER_PRODUCT && !any_metric {
        let metric = if flat.metric == METRIC_L2 {
            "the Euclidean distance (L2)".to_owned()
        } else {
            format!("metric {}", flat.metric)
        };
        return Err(ExchangeError::Unsupported {
            path: path.to_owned(),
            what: format!(
                "a FAISS index for {metric}; Toller ranks by the inner product, which orders vectors \
                           differently unless all have length one"
            ),
            remedy: remedy!("add `{}` to take its vectors all the same", Setting::AnyMetric),
        });
    }
    let mut end = reader.array(flat.rows.checked_mul(flat.dim), NumberType::F32.size())?;
    let start = reader.at;
    let mut ids = None;
    if mapped {
        reader.at = end;
        end = reader.array(Some(flat.rows), size_of::<i64>())?;
        ids = Some(reader.at);
    }
    let found = file.bytes().len();
    if found != end {
        return Err(ExchangeError::Length {
            path: path.to_owned(),
            expected: end as u64,
            found: found as u64,
        });
    }
    let matrix = Matrix::new(file, VectorFormat::Faiss, start, [flat.rows, flat.dim], NumberType::F32)?;
    Ok(Flat { matrix, ids })
}

struct Reader<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn head(&mut self) -> Result<Head, ExchangeError> {
        let kind: [u8; 4] = self.take()?;
        // Other kinds may have another head; they are refused by their kind.
        if !kind.starts_with(b"Ix") {
            return Ok(Head { kind, dim: 0, rows: 0, metric: 0 });
        }
        let dim = i32::from_le_bytes(self.take()?);
        let rows = i64::from_le_bytes(self.take()?);
        let (_, _, _) = (self.take::<8>()?, self.take::<8>()?, self.take::<1>()?);
        let metric = i32::from_le_bytes(self.take()?);
        if metric > METRIC_L2 {
            self.take::<4>()?;
        }
        match (usize::try_from(dim), usize::try_from(rows)) {
            (Ok(dim), Ok(rows)) => Ok(Head { kind, dim, rows, metric }),
            _ => Err(self.invalid(format!("it has {rows} vectors of dimension {dim}"))),
        }
    }

    /// The count before an array of `expected` elements of `size` bytes; returns where the array ends, within
    /// the file. The reader is then at the start of the array.
    fn array(&mut self, expected: Option<usize>, size: usize) -> Result<usize, ExchangeError> {
        let found = u64::from_le_bytes(self.take()?);
        let count = expected.filter(|&count| count as u64 == found);
        let count = count
            .ok_or_else(|| self.invalid(format!("an array of {found} elements does not fit its header")))?;
        match count.checked_mul(size).and_then(|bytes| bytes.checked_add(self.at)) {
            Some(end) if end <= self.bytes.len() => Ok(end),
            end => Err(ExchangeError::Length {
                path: self.path.to_owned(),
                expected: end.map_or(u64::MAX, |end| end as u64),
                found: self.bytes.len() as u64,
            }),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ExchangeError> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let taken = *taken.ok_or_else(|| self.invalid("it ends within its header".to_owned()))?;
        self.at += N;
        Ok(taken)
    }

    fn invalid(&self, reason: String) -> ExchangeError {
        ExchangeError::Invalid { path: self.path.to_owned(), format: VectorFormat::Faiss, reason }
    }
}
