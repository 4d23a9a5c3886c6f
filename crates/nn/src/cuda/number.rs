//! The types of numbers in a device's memory, and rows of them.

use half::{bf16, f16};

use crate::{NnError, Precision};

/// The type of a matrix's numbers, in the order of the kernels' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    F32,
    F16,
    Bf16,
}

/// Rows are padded to a multiple of this many numbers.
pub(super) const UNIT: usize = 8;

impl Number {
    pub(super) fn of(precision: Precision) -> Result<Self, NnError> {
        match precision {
            Precision::F32 => Ok(Self::F32),
            Precision::F16 => Ok(Self::F16),
            Precision::Bf16 => Ok(Self::Bf16),
            Precision::Int8 => Err(NnError::GpuPrecision(precision)),
        }
    }

    /// Bytes of a number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Bytes of a row of `width` numbers.
    pub(super) fn stride(self, width: usize) -> usize {
        width.next_multiple_of(UNIT) * self.size()
    }

    /// Appends a row of `width` numbers at most, padded with zeros.
    pub(super) fn push_row(self, row: &[f32], width: usize, to: &mut Vec<u8>) {
        let end = to.len() + self.stride(width);
        match self {
            Self::F32 => to.extend(row.iter().flat_map(|x| x.to_le_bytes())),
            Self::F16 => to.extend(row.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes())),
            Self::Bf16 => to.extend(row.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes())),
        }
        to.resize(end, 0);
    }

    /// Appends the first `width` numbers of each row.
    pub(super) fn read_rows(self, bytes: &[u8], width: usize, to: &mut Vec<f32>) {
        for row in bytes.chunks_exact(self.stride(width).max(1)) {
            let row = &row[..width * self.size()];
            match self {
                Self::F32 => to.extend(row.as_chunks().0.iter().map(|&x| f32::from_le_bytes(x))),
                Self::F16 => to.extend(row.as_chunks().0.iter().map(|&x| f16::from_le_bytes(x).to_f32())),
                Self::Bf16 => to.extend(row.as_chunks().0.iter().map(|&x| bf16::from_le_bytes(x).to_f32())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn rows_are_padded_and_read_again() {
        let rows = [[1.0_f32, -2.5, 0.0], [3.0, 1e-3, 65504.0]];
        for (number, tolerance) in [(Number::F32, 0.0), (Number::F16, 1e-3), (Number::Bf16, 1e-2)] {
            let mut bytes = Vec::new();
            rows.iter().for_each(|row| number.push_row(row, 3, &mut bytes));
            assert_eq!(bytes.len(), 2 * number.stride(3));
            assert_eq!(number.stride(3), 8 * number.size());
            let mut read = Vec::new();
            number.read_rows(&bytes, 3, &mut read);
            for (read, expected) in read.iter().zip(rows.as_flattened()) {
                assert!((read - expected).abs() <= tolerance * expected.abs(), "{number:?}: {read}");
            }
        }
    }
}
