//! NumPy's `.npy`: a header that is a Python dictionary, and the numbers.
//!
//! The six bytes `\x93NUMPY`, a version (1, 2 or 3, and a minor one), the length of the header (two bytes in
//! version 1, four in the others), and the header: `{'descr': '<f4', 'fortran_order': False, 'shape': (n, d),
//! }`.

use std::path::Path;

use toller_ir::counted;
use toller_pickle::numpy::DType;

use crate::mapped::Mapped;
use crate::matrix::Matrix;
use crate::{ExchangeError, NumberType, VectorFormat};

/// Headers of plain arrays have about a hundred bytes; numpy itself refuses longer ones than this.
const MAX_HEADER_BYTES: usize = 10_000;

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Opens the array in `path`, which has two dimensions.
pub(super) fn open(path: &Path) -> Result<Matrix, ExchangeError> {
    let file = Mapped::open(path)?;
    let invalid =
        |reason: String| ExchangeError::Invalid { path: path.to_owned(), format: VectorFormat::Npy, reason };
    let unsupported = |what: String, remedy: &'static str| ExchangeError::Unsupported {
        path: path.to_owned(),
        what,
        remedy: remedy.into(),
    };
    let (text, start) = header_text(file.bytes()).map_err(invalid)?;
    let header = parse(text).ok_or_else(|| invalid(format!("its header is {text:?}")))?;
    let numbers = DType::parse(&header.descr).and_then(NumberType::of).ok_or_else(|| {
        let what = format!("an array of `{}`, not of float16, float32 or float64", header.descr);
        unsupported(what, "convert it first: `numpy.save(path, array.astype(numpy.float32))`")
    })?;
    let &[rows, dim] = header.shape.as_slice() else {
        let what = format!(
            "an array with {}, not the two of [vectors, numbers]",
            counted(header.shape.len(), "dimension")
        );
        return Err(unsupported(what, "save a matrix with a vector a row"));
    };
    // A matrix with one row or one column is the same in both orders.
    if header.fortran_order && rows > 1 && dim > 1 {
        return Err(unsupported(
            "an array in Fortran order, column after column".to_owned(),
            "save it row after row: `numpy.save(path, numpy.ascontiguousarray(array))`",
        ));
    }
    Matrix::new(file, VectorFormat::Npy, start, [rows, dim], numbers)?.at_end()
}

/// The header, and where the numbers begin.
fn header_text(bytes: &[u8]) -> Result<(&str, usize), String> {
    let truncated = || "it ends within its header".to_owned();
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("it does not begin with \\x93NUMPY")?;
    let (&[major, _], rest) = rest.split_first_chunk().ok_or_else(truncated)?;
    let (length, rest) = match major {
        1 => {
            let (&length, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
            (usize::from(u16::from_le_bytes(length)), rest)
        }
        2 | 3 => {
            let (&length, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
            (u32::from_le_bytes(length) as usize, rest)
        }
        other => return Err(format!("its version is {other}; 1, 2 and 3 are known")),
    };
    if length > MAX_HEADER_BYTES {
        return Err(format!("its header has {length} bytes"));
    }
    let header = rest.get(..length).ok_or_else(truncated)?;
    let text = std::str::from_utf8(header).map_err(|_| "its header is not UTF-8".to_owned())?;
    Ok((text, bytes.len() - rest.len() + length))
}

/// Reads the dictionary of a header: exactly its three keys, in any order.
fn parse(text: &str) -> Option<Header> {
    let mut rest = text.trim().strip_prefix('{')?.trim_start();
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    while !rest.starts_with('}') {
        let (key, after) = quoted(rest)?;
        let after = after.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" => {
                let (value, after) = quoted(after)?;
                descr = Some(value.to_owned());
                after
            }
            "fortran_order" => {
                let value = after.starts_with("True");
                fortran_order = Some(value);
                after.strip_prefix(if value { "True" } else { "False" })?
            }
            "shape" => {
                let (inside, after) = after.strip_prefix('(')?.split_once(')')?;
                let extents = inside.trim().trim_end_matches(',').split(',').map(str::trim);
                // Python 2 wrote long integers with an L.
                let number = |extent: &str| extent.trim_end_matches('L').parse().ok();
                shape =
                    if inside.trim().is_empty() { Some(Vec::new()) } else { extents.map(number).collect() };
                after
            }
            _ => return None,
        };
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if rest.starts_with('}') => rest,
            None => return None,
        };
    }
    (rest == "}").then_some(())?;
    Some(Header { descr: descr?, fortran_order: fortran_order?, shape: shape? })
}

/// A quoted string without escapes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text.get(1..)?.split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::{Header, parse};

    #[test]
    fn headers() {
        let header = |descr: &str, fortran_order, shape: &[usize]| {
            Some(Header { descr: descr.to_owned(), fortran_order, shape: shape.to_vec() })
        };
        let numpy = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }          \n";
        assert_eq!(parse(numpy), header("<f4", false, &[3, 2]));
        let other = "{\"shape\":(3L,2L),\"fortran_order\":True,\"descr\":\">f2\"}";
        assert_eq!(parse(other), header(">f2", true, &[3, 2]));
        assert_eq!(
            parse("{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }"),
            header("<f8", false, &[7])
        );
        assert_eq!(
            parse("{'descr': '<f8', 'fortran_order': False, 'shape': (), }"),
            header("<f8", false, &[])
        );
        for wrong in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f4', 'fortran_order': Perhaps, 'shape': (3, 2), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 2), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), 'more': 1}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': (3, 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } and more",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
