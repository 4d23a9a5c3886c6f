//! Pickles of vectors: a matrix with a list of ids (Tevatron), a list of ids with a vector each (DPR), or a
//! dictionary from ids to vectors.

use std::borrow::Cow;
use std::path::Path;

use toller_pickle::numpy::{Array, Content, Scalar};
use toller_pickle::{Pickle, PickleError, Value};

use super::VisitRow;
use crate::mapped::Mapped;
use crate::{ExchangeError, NumberType, Precision};

const LAYOUTS: &str = "a matrix with a list of identifiers, a list of identifiers with a vector each, or a dictionary \
                       from identifiers to vectors";

/// What a pickle holds, in outline.
pub(super) struct Shape {
    pub(super) rows: u64,
    /// The length of the first vector, if there is one, and the precision of the most precise.
    pub(super) first: Option<(usize, Precision)>,
}

/// The layouts.
enum Vectors<'p, 'a> {
    /// Tevatron: `(matrix, ids)`.
    Matrix { matrix: Numbers<'p>, rows: usize, dim: usize, ids: Ids<'p, 'a> },
    /// DPR: `[(id, vector, ...), ...]`; or `{id: vector}`.
    Pairs(Vec<(Value<'p, 'a>, Value<'p, 'a>)>),
}

/// The numbers of an array, row after row.
struct Numbers<'p> {
    numbers: NumberType,
    bytes: Cow<'p, [u8]>,
}

/// Ids, as many as there are rows.
enum Ids<'p, 'a> {
    Values(toller_pickle::Items<'p, 'a>),
    Elements { array: Array<'p, 'a>, bytes: Cow<'p, [u8]> },
}

/// The outline of the pickle in `path`.
pub(super) fn shape(path: &Path) -> Result<Shape, ExchangeError> {
    let file = Mapped::open(path)?;
    let at = |source| ExchangeError::Pickle { path: path.to_owned(), source };
    let pickle = Pickle::load(file.bytes()).map_err(at)?;
    Ok(match vectors(pickle.root()).map_err(at)? {
        Vectors::Matrix { matrix, rows, dim, .. } => {
            Shape { rows: rows as u64, first: Some((dim, matrix.numbers.precision)) }
        }
        Vectors::Pairs(pairs) => {
            let mut first: Option<(usize, Precision)> = None;
            for (_, value) in &pairs {
                let (numbers, dim) = vector(*value).map_err(at)?;
                let precision = numbers.numbers.precision;
                let (dim, so_far) = first.unwrap_or((dim, precision));
                first = Some((dim, so_far.max(precision)));
            }
            Shape { rows: pairs.len() as u64, first }
        }
    })
}

/// Calls `visit` for each row of the pickle in `path`.
pub(super) fn for_each(path: &Path, visit: &mut VisitRow<'_>) -> Result<(), ExchangeError> {
    let file = Mapped::open(path)?;
    let at = |source| ExchangeError::Pickle { path: path.to_owned(), source };
    let pickle = Pickle::load(file.bytes()).map_err(at)?;
    let mut out = Vec::new();
    match vectors(pickle.root()).map_err(at)? {
        Vectors::Matrix { matrix, rows, dim, ids } => {
            let row_bytes = dim * matrix.numbers.size();
            for row in 0..rows {
                let bytes = matrix.bytes.get(row * row_bytes..(row + 1) * row_bytes).unwrap_or_default();
                matrix.numbers.decode(bytes, &mut out);
                visit(row as u64, &ids.get(row).map_err(at)?, &out)?;
            }
        }
        Vectors::Pairs(pairs) => {
            for (row, (id, value)) in pairs.into_iter().enumerate() {
                let (numbers, _) = vector(value).map_err(at)?;
                numbers.numbers.decode(&numbers.bytes, &mut out);
                visit(row as u64, &identifier(id).map_err(at)?, &out)?;
            }
        }
    }
    Ok(())
}

fn vectors<'p, 'a>(root: Value<'p, 'a>) -> Result<Vectors<'p, 'a>, PickleError> {
    if let Some(pairs) = root.as_dict() {
        return Ok(Vectors::Pairs(pairs.iter().collect()));
    }
    let items = root.as_tuple().or_else(|| root.as_list()).ok_or_else(|| root.unexpected(LAYOUTS))?;
    if let Some([matrix, ids]) = items.array()
        && let Ok(array) = Array::read(matrix)
        && array.shape.len() == 2
    {
        return matrix_with_ids(matrix, array, ids);
    }
    let pair = |item: Value<'p, 'a>| {
        let pair = item.as_tuple().or_else(|| item.as_list());
        pair.and_then(|pair| Some((pair.get(0)?, pair.get(1)?))).ok_or_else(|| item.unexpected(LAYOUTS))
    };
    Ok(Vectors::Pairs(items.iter().map(pair).collect::<Result<_, _>>()?))
}

fn matrix_with_ids<'p, 'a>(
    value: Value<'p, 'a>,
    array: Array<'p, 'a>,
    ids: Value<'p, 'a>,
) -> Result<Vectors<'p, 'a>, PickleError> {
    let &[rows, dim] = array.shape.as_slice() else { return Err(value.unexpected("a matrix")) };
    if dim == 0 || (array.fortran_order && rows > 1 && dim > 1) {
        return Err(value.unexpected("a matrix in C order with a vector a row"));
    }
    let matrix = numbers(value, array)?;
    let expected = || format!("{rows} identifiers, one for each vector");
    let ids = match ids.as_list().or_else(|| ids.as_tuple()) {
        Some(items) if items.len() == rows => Ids::Values(items),
        Some(_) => return Err(ids.unexpected(expected())),
        None => {
            let array = Array::read(ids)?;
            if array.shape != [rows] {
                return Err(ids.unexpected(expected()));
            }
            match array.content.clone() {
                Content::Objects(items) => Ids::Values(items),
                Content::Bytes(bytes) => Ids::Elements { array, bytes },
            }
        }
    };
    Ok(Vectors::Matrix { matrix, rows, dim, ids })
}

/// A vector and its length.
fn vector<'p>(value: Value<'p, '_>) -> Result<(Numbers<'p>, usize), PickleError> {
    let array = Array::read(value)?;
    // DPR's vectors are flat; [1, dim] is what a batch of one leaves.
    let (&[dim] | &[1, dim]) = array.shape.as_slice() else {
        return Err(value.unexpected("a vector"));
    };
    Ok((numbers(value, array)?, dim))
}

fn numbers<'p>(value: Value<'p, '_>, array: Array<'p, '_>) -> Result<Numbers<'p>, PickleError> {
    match (NumberType::of(array.dtype), array.content) {
        (Some(numbers), Content::Bytes(bytes)) => Ok(Numbers { numbers, bytes }),
        _ => {
            let expected = "an array of float16, float32 or float64".to_owned();
            Err(PickleError::Unexpected {
                expected,
                found: format!("{} of {}", value.describe(), array.dtype),
            })
        }
    }
}

impl<'p> Ids<'p, '_> {
    fn get(&self, row: usize) -> Result<Cow<'p, str>, PickleError> {
        match self {
            Self::Values(values) => match values.get(row) {
                Some(value) => identifier(value),
                None => Ok(Cow::Borrowed("")),
            },
            Self::Elements { array, bytes } => {
                let size = array.dtype.size;
                let element = bytes.get(row * size..(row + 1) * size).unwrap_or_default();
                let id =
                    array.dtype.int(element).map(|id| id.to_string()).or_else(|| array.dtype.str(element));
                id.map(Cow::Owned).ok_or_else(|| PickleError::Unexpected {
                    expected: "identifiers that are strings or integers".to_owned(),
                    found: format!("an array of {}", array.dtype),
                })
            }
        }
    }
}

fn identifier<'p>(value: Value<'p, '_>) -> Result<Cow<'p, str>, PickleError> {
    if let Some(id) = value.as_str() {
        return Ok(Cow::Borrowed(id));
    }
    let unexpected = || value.unexpected("an identifier that is a string or an integer");
    if let Some(id) = value.as_int() {
        return Ok(Cow::Owned(id.to_string()));
    }
    match Scalar::read(value).map_err(|_| unexpected())? {
        Scalar::Int(id) => Ok(Cow::Owned(id.to_string())),
        Scalar::Str(id) => Ok(Cow::Owned(id)),
        Scalar::Float(_) => Err(unexpected()),
    }
}
