//! numpy's scalars: the elements of arrays.

use super::{DType, Kind, is_core};
use crate::{PickleError, Value};

/// A pickled scalar such as `numpy.int64(7)` or `numpy.str_("d7")`.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// An integer.
    Int(i128),
    /// A `numpy.str_` or `numpy.bytes_`.
    Str(String),
    /// A `numpy.float32` or `numpy.float64`.
    Float(f64),
}

impl Scalar {
    /// Reads a pickled scalar.
    ///
    /// # Errors
    /// When the value is not such a scalar.
    pub fn read(value: Value<'_, '_>) -> Result<Self, PickleError> {
        let unexpected = || value.unexpected("a numpy scalar");
        let object = value.as_object().ok_or_else(unexpected)?;
        if !is_core(object.callable(), "multiarray", "scalar") {
            return Err(unexpected());
        }
        let Some([dtype, content]) = object.args().array() else { return Err(unexpected()) };
        let (dtype, content) = (DType::read(dtype)?, content.as_bytes().ok_or_else(unexpected)?);
        if content.len() != dtype.size {
            return Err(unexpected());
        }
        let scalar = match dtype.kind {
            Kind::Int | Kind::Uint => dtype.int(&content).map(Self::Int),
            Kind::Str | Kind::Bytes => dtype.str(&content).map(Self::Str),
            Kind::Float => float(dtype, &content).map(Self::Float),
            Kind::Bool | Kind::Complex | Kind::Object => None,
        };
        scalar.ok_or_else(unexpected)
    }
}

fn float(dtype: DType, bytes: &[u8]) -> Option<f64> {
    if let Ok(bytes) = <[u8; 8]>::try_from(bytes) {
        Some(if dtype.big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) })
    } else {
        let bytes: [u8; 4] = bytes.try_into().ok()?;
        Some(f64::from(if dtype.big_endian { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) }))
    }
}
