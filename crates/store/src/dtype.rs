//! The number formats a store can hold, and rounding to them.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use toller_ir::named;

named! {
    /// The number format of stored embeddings.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum DType: "a store dtype" {
        /// IEEE 754 binary32.
        F32 = "f32",
        /// IEEE 754 binary16: 11 significant bits, at most 65504.
        F16 = "f16",
        /// bfloat16: the upper half of an f32, 8 significant bits.
        BF16 = "bf16",
    }
}

impl DType {
    /// Bytes of one number.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
        }
    }

    /// The corresponding safetensors dtype.
    pub(crate) fn safetensors(self) -> safetensors::Dtype {
        match self {
            Self::F32 => safetensors::Dtype::F32,
            Self::F16 => safetensors::Dtype::F16,
            Self::BF16 => safetensors::Dtype::BF16,
        }
    }

    /// Appends `values`, each rounded to nearest (ties to even), in little-endian order to `out`.
    pub(crate) fn append(self, values: &[f32], out: &mut Vec<u8>) -> Result<(), BadValue> {
        if let Some(column) = values.iter().position(|value| !value.is_finite()) {
            return Err(BadValue::NotFinite { column });
        }
        out.reserve(values.len() * self.size());
        for (column, &value) in values.iter().enumerate() {
            let rounded = match self {
                Self::F32 => {
                    out.extend_from_slice(&value.to_le_bytes());
                    continue;
                }
                Self::F16 => Some(f16::from_f32(value)).filter(|x| x.is_finite()).map(f16::to_le_bytes),
                Self::BF16 => Some(bf16::from_f32(value)).filter(|x| x.is_finite()).map(bf16::to_le_bytes),
            };
            out.extend_from_slice(&rounded.ok_or(BadValue::Overflow { column })?);
        }
        Ok(())
    }
}

/// A value that a store does not hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadValue {
    /// NaN or infinite.
    NotFinite { column: usize },
    /// Finite, but infinite once rounded.
    Overflow { column: usize },
}

#[cfg(test)]
mod tests {
    use super::{BadValue, DType};

    fn rounded(dtype: DType, value: f32) -> Result<u32, BadValue> {
        let mut bytes = Vec::new();
        dtype.append(&[value], &mut bytes)?;
        bytes.resize(4, 0);
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    #[test]
    fn rounds_to_nearest_even() {
        // f16 has 11 significant bits: 2049 is between 2048 (even) and 2050, 2051 between 2050 and 2052
        // (even).
        assert_eq!(rounded(DType::F16, 2049.0), Ok(0x6800));
        assert_eq!(rounded(DType::F16, 2051.0), Ok(0x6802));
        assert_eq!(rounded(DType::F16, f32::from_bits(0x3300_0000)), Ok(0)); // 2^-25: a tie with zero
        assert_eq!(rounded(DType::F16, f32::from_bits(0x3300_0001)), Ok(1)); // just above: the least subnormal
        // bf16 has 8: 257 is between 256 (even) and 258, 259 between 258 and 260 (even).
        assert_eq!(rounded(DType::BF16, 257.0), Ok(0x4380));
        assert_eq!(rounded(DType::BF16, 259.0), Ok(0x4382));
        assert_eq!(rounded(DType::F32, -0.0), Ok(0x8000_0000));
    }

    #[test]
    fn what_would_become_infinite_is_an_error() {
        assert_eq!(rounded(DType::F16, 65519.996), Ok(0x7bff));
        assert_eq!(rounded(DType::F16, 65520.0), Err(BadValue::Overflow { column: 0 }));
        assert_eq!(rounded(DType::BF16, f32::MAX), Err(BadValue::Overflow { column: 0 }));
        assert!(rounded(DType::F32, f32::MAX).is_ok());
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut bytes = Vec::new();
                assert_eq!(dtype.append(&[1.0, value], &mut bytes), Err(BadValue::NotFinite { column: 1 }));
            }
        }
    }
}
