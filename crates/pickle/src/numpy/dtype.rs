//! The types of an array's elements.

use std::fmt;

use crate::{PickleError, Value};

/// The kind of an array's elements, by numpy's letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `b`: a byte that is 0 or 1.
    Bool,
    /// `i`: two's complement.
    Int,
    /// `u`: unsigned.
    Uint,
    /// `f`: IEEE 754.
    Float,
    /// `c`: two floats.
    Complex,
    /// `S`: bytes, filled up with zeros.
    Bytes,
    /// `U`: code points of four bytes, filled up with zeros.
    Str,
    /// `O`: references to objects.
    Object,
}

/// The type of an array's elements: `<f4` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DType {
    /// The kind of an element.
    pub kind: Kind,
    /// Bytes of an element.
    pub size: usize,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
}

impl DType {
    /// Reads numpy's short form of a type: a byte order (`<`, `>`, `|` or `=`, or none, which is
    /// little-endian here), a letter and a size. `None` for types other than plain elements: structured
    /// types, dates.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (big_endian, rest) = match text.strip_prefix('>') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(['<', '|', '=']).unwrap_or(text)),
        };
        let letter = rest.chars().next()?;
        let size: usize = match rest.get(letter.len_utf8()..)? {
            "" if letter == 'O' => size_of::<u64>(),
            size if size.bytes().all(|byte| byte.is_ascii_digit()) => size.parse().ok()?,
            _ => return None,
        };
        let (kind, size) = match (letter, size) {
            ('b', 1) => (Kind::Bool, size),
            ('i', 1 | 2 | 4 | 8) => (Kind::Int, size),
            ('u', 1 | 2 | 4 | 8) => (Kind::Uint, size),
            ('f', 2 | 4 | 8 | 12 | 16) => (Kind::Float, size),
            ('c', 8 | 16 | 24 | 32) => (Kind::Complex, size),
            ('S', _) => (Kind::Bytes, size),
            ('U', characters) => (Kind::Str, characters.checked_mul(4)?),
            ('O', 8) => (Kind::Object, size),
            _ => return None,
        };
        Some(Self { kind, size, big_endian: big_endian && size > 1 })
    }

    /// Reads a pickled `numpy.dtype`.
    ///
    /// # Errors
    /// When the value is not a dtype, or [`DType::parse`] does not know the dtype.
    pub fn read(value: Value<'_, '_>) -> Result<Self, PickleError> {
        let unexpected = || value.unexpected("a numpy dtype of plain elements");
        let object = value.as_object().ok_or_else(unexpected)?;
        if object.callable().as_global() != Some(("numpy", "dtype")) {
            return Err(unexpected());
        }
        let name = object.args().get(0).and_then(|name| name.as_str());
        let mut dtype = name.and_then(Self::parse).ok_or_else(unexpected)?;
        // (version, byte order, sub-array, field names, ...)
        if let Some(state) = object.state() {
            let state = state.as_tuple().ok_or_else(unexpected)?;
            let plain = |index| state.get(index).is_none_or(|part: Value<'_, '_>| part.is_none());
            if !plain(2) || !plain(3) {
                return Err(unexpected());
            }
            dtype.big_endian |= state.get(1).and_then(|order| order.as_str()) == Some(">");
        }
        Ok(dtype)
    }

    /// The element `bytes`, if it is an integer.
    #[must_use]
    pub fn int(self, bytes: &[u8]) -> Option<i128> {
        if bytes.len() != self.size || !matches!(self.kind, Kind::Int | Kind::Uint) {
            return None;
        }
        let mut padded = [0; 16];
        padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
        if self.big_endian {
            padded.get_mut(..bytes.len())?.reverse();
        }
        let unsigned = i128::from_le_bytes(padded);
        let bits = u32::try_from(8 * bytes.len()).ok()?;
        let negative = self.kind == Kind::Int && unsigned >> (bits - 1) == 1;
        Some(if negative { unsigned - (1 << bits) } else { unsigned })
    }

    /// The element `bytes`, if it is a string, without the zeros that pad it.
    #[must_use]
    pub fn str(self, bytes: &[u8]) -> Option<String> {
        match self.kind {
            Kind::Bytes => {
                let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                std::str::from_utf8(bytes.get(..end)?).ok().map(str::to_owned)
            }
            Kind::Str => {
                let (points, rest) = bytes.as_chunks::<4>();
                let decode = if self.big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
                let text: Option<String> =
                    points.iter().map(|&point| char::from_u32(decode(point))).collect();
                text.filter(|_| rest.is_empty()).map(|text| text.trim_end_matches('\0').to_owned())
            }
            _ => None,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, size) = match self.kind {
            Kind::Bool => ('b', self.size),
            Kind::Int => ('i', self.size),
            Kind::Uint => ('u', self.size),
            Kind::Float => ('f', self.size),
            Kind::Complex => ('c', self.size),
            Kind::Bytes => ('S', self.size),
            Kind::Str => ('U', self.size / 4),
            Kind::Object => ('O', self.size),
        };
        write!(f, "{}{letter}{size}", if self.big_endian { '>' } else { '<' })
    }
}

#[cfg(test)]
mod tests {
    use super::{DType, Kind};

    #[test]
    fn short_forms() {
        let dtype = |kind, size, big_endian| Some(DType { kind, size, big_endian });
        assert_eq!(DType::parse("<f4"), dtype(Kind::Float, 4, false));
        assert_eq!(DType::parse(">f2"), dtype(Kind::Float, 2, true));
        assert_eq!(DType::parse("|S7"), dtype(Kind::Bytes, 7, false));
        assert_eq!(DType::parse("U3"), dtype(Kind::Str, 12, false));
        assert_eq!(DType::parse("|O"), dtype(Kind::Object, 8, false));
        assert_eq!(DType::parse("i8").map(|dtype| dtype.to_string()).as_deref(), Some("<i8"));
        for wrong in
            ["", "<", "f", "f3", "<f+4", "M8", "V2", "é4", "U99999999999999999999", "U9999999999999999999"]
        {
            assert_eq!(DType::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn elements() -> Result<(), Box<dyn std::error::Error>> {
        let dtype = |text| DType::parse(text).ok_or("a dtype");
        assert_eq!(dtype("<i2")?.int(&[0xfe, 0xff]), Some(-2));
        assert_eq!(dtype(">i4")?.int(&[0x80, 0, 0, 1]), Some(-0x7fff_ffff));
        assert_eq!(dtype("<u8")?.int(&[0xff; 8]), Some(i128::from(u64::MAX)));
        assert_eq!(dtype("<i8")?.int(&[0; 4]), None);
        assert_eq!(dtype("<f8")?.int(&[0; 8]), None);
        assert_eq!(dtype("S4")?.str(b"ab\0\0").as_deref(), Some("ab"));
        assert_eq!(dtype("<U2")?.str(&[0xe9, 0, 0, 0, 0, 0, 0, 0]).as_deref(), Some("é"));
        assert_eq!(dtype(">U1")?.str(&[0, 0, 0, b'x']).as_deref(), Some("x"));
        assert_eq!(dtype("<U1")?.str(&[0, 0xd8, 0, 0]), None);
        Ok(())
    }
}
