//! Numbers as files hold them, widened or narrowed to f32.

use half::f16;
use toller_corpus::parquet::Precision;
use toller_pickle::numpy::{DType, Kind};

/// How a number of a vector is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberType {
    /// How precise it is.
    pub precision: Precision,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
}

impl NumberType {
    /// FAISS's numbers.
    pub(crate) const F32: Self = Self { precision: Precision::F32, big_endian: false };

    /// NumPy's numbers, if they are floats of two, four or eight bytes.
    pub(crate) fn of(dtype: DType) -> Option<Self> {
        let precision = match (dtype.kind, dtype.size) {
            (Kind::Float, 2) => Precision::F16,
            (Kind::Float, 4) => Precision::F32,
            (Kind::Float, 8) => Precision::F64,
            _ => return None,
        };
        Some(Self { precision, big_endian: dtype.big_endian })
    }

    /// Bytes of a number.
    pub(crate) fn size(self) -> usize {
        match self.precision {
            Precision::F16 => 2,
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }

    /// Replaces the content of `out` with the numbers in `bytes`; doubles are rounded to nearest, ties to
    /// even.
    pub(crate) fn decode(self, bytes: &[u8], out: &mut Vec<f32>) {
        fn each<const N: usize>(
            bytes: &[u8],
            big_endian: bool,
            out: &mut Vec<f32>,
            number: impl Fn([u8; N]) -> f32,
        ) {
            let (numbers, _) = bytes.as_chunks::<N>();
            out.extend(numbers.iter().map(|&bytes| {
                let mut bytes = bytes;
                if big_endian {
                    bytes.reverse();
                }
                number(bytes)
            }));
        }
        out.clear();
        match self.precision {
            Precision::F16 => each(bytes, self.big_endian, out, |bytes| f16::from_le_bytes(bytes).to_f32()),
            Precision::F32 => each(bytes, self.big_endian, out, f32::from_le_bytes),
            Precision::F64 => each(bytes, self.big_endian, out, |bytes| f64::from_le_bytes(bytes) as f32),
        }
    }
}

#[cfg(test)]
mod tests {
    use toller_pickle::numpy::DType;

    use super::NumberType;

    #[test]
    fn every_type_in_both_orders() -> Result<(), Box<dyn std::error::Error>> {
        let cases: [(&str, Vec<u8>); 6] = [
            ("<f2", vec![0x00, 0xbe, 0x00, 0x3c]),
            (">f2", vec![0xbe, 0x00, 0x3c, 0x00]),
            ("<f4", [(-1.5_f32).to_le_bytes(), 1_f32.to_le_bytes()].concat()),
            (">f4", [(-1.5_f32).to_be_bytes(), 1_f32.to_be_bytes()].concat()),
            ("<f8", [(-1.5_f64).to_le_bytes(), 1_f64.to_le_bytes()].concat()),
            (">f8", [(-1.5_f64).to_be_bytes(), 1_f64.to_be_bytes()].concat()),
        ];
        for (name, bytes) in cases {
            let numbers = DType::parse(name).and_then(NumberType::of).ok_or(name)?;
            let mut out = vec![7.0];
            numbers.decode(&bytes, &mut out);
            assert_eq!(out, [-1.5, 1.0], "{name}");
        }
        for other in ["<i4", "<c8", "<f16", "O"] {
            assert_eq!(DType::parse(other).and_then(NumberType::of), None, "{other}");
        }
        Ok(())
    }
}
