//! Tensors as checkpoint files hold them: bytes, the type of an element, and where each element lies.

use std::borrow::Cow;
use std::ops::Range;

use half::{bf16, f16};
use safetensors::Dtype;

/// More axes than any weight has. The limit keeps a small file from repeating a long shape many times.
const MAX_AXES: usize = 8;

/// Whether tensors of this type can be weights; others are counters and position ids.
pub(crate) fn is_float(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64)
}

/// A tensor of a checkpoint: where its elements lie, and the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredTensor<'a> {
    pub(crate) layout: Strided,
    pub(crate) data: Cow<'a, [u8]>,
}

impl StoredTensor<'_> {
    /// The elements in row-major order.
    pub(crate) fn row_major(&self) -> Result<Cow<'_, [u8]>, String> {
        self.layout.gather(&self.data)
    }

    /// The elements as f32 in row-major order: f64 is rounded, the others stay as they are.
    pub(crate) fn to_f32(&self) -> Result<Vec<f32>, String> {
        fn convert<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
            bytes.as_chunks().0.iter().map(|bytes| number(*bytes)).collect()
        }
        let bytes = self.row_major()?;
        Ok(match self.layout.dtype {
            Dtype::F16 => convert(&bytes, |bytes| f16::from_le_bytes(bytes).to_f32()),
            Dtype::BF16 => convert(&bytes, |bytes| bf16::from_le_bytes(bytes).to_f32()),
            Dtype::F32 => convert(&bytes, f32::from_le_bytes),
            Dtype::F64 => convert(&bytes, |bytes| f64::from_le_bytes(bytes) as f32),
            other => return Err(format!("holds {other}; floating-point numbers of 16 to 64 bits are read")),
        })
    }
}

/// Where the elements of a tensor lie in its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Strided {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    /// The distance of neighbours along each axis, in elements.
    strides: Vec<usize>,
    /// The first element.
    offset: usize,
}

impl Strided {
    /// Elements in row-major order from the first on.
    pub(crate) fn row_major(dtype: Dtype, shape: Vec<usize>) -> Result<Self, String> {
        let strides = contiguous(&shape, (0..shape.len()).rev())?;
        Ok(Self { dtype, shape, strides, offset: 0 })
    }

    /// Elements in column-major order, as Fortran has them.
    pub(crate) fn column_major(dtype: Dtype, shape: Vec<usize>) -> Result<Self, String> {
        let strides = contiguous(&shape, 0..shape.len())?;
        Ok(Self { dtype, shape, strides, offset: 0 })
    }

    /// Elements with any strides.
    pub(crate) fn with_strides(
        dtype: Dtype,
        shape: Vec<usize>,
        strides: Vec<usize>,
        offset: usize,
    ) -> Result<Self, String> {
        if shape.len() != strides.len() {
            return Err(format!("{} dimensions with {} strides", shape.len(), strides.len()));
        }
        contiguous(&shape, 0..shape.len())?;
        Ok(Self { dtype, shape, strides, offset })
    }

    /// The size of an element.
    pub(crate) fn element_bytes(&self) -> usize {
        self.dtype.bitsize().div_ceil(8)
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        // Checked when the shape was taken.
        self.shape.iter().product()
    }

    /// The same tensor with its two axes exchanged.
    pub(crate) fn transposed(mut self) -> Self {
        self.shape.reverse();
        self.strides.reverse();
        self
    }

    /// One step along the first axis: a row of a matrix.
    pub(crate) fn row(&self, row: usize) -> Result<Self, String> {
        let size = self.shape.first().copied().unwrap_or_default();
        let start =
            self.strides.first().and_then(|stride| row.checked_mul(*stride)?.checked_add(self.offset));
        match start {
            Some(offset) if row < size => Ok(Self {
                dtype: self.dtype,
                shape: self.shape[1..].to_vec(),
                strides: self.strides[1..].to_vec(),
                offset,
            }),
            _ => Err(format!("there is no row {row} among {size}")),
        }
    }

    /// Checks that every element lies within `bytes` of data. A tensor with more elements than data (NumPy's
    /// and PyTorch's broadcasting, a stride of 0) is an error too: it would let a small file ask for any
    /// memory.
    pub(crate) fn check_fits(&self, bytes: usize) -> Result<(), String> {
        let stored = bytes / self.element_bytes();
        let last = self.shape.iter().zip(&self.strides).try_fold(self.offset, |last, (&size, &stride)| {
            size.saturating_sub(1).checked_mul(stride).and_then(|span| last.checked_add(span))
        });
        let fits = self.len() == 0 || (self.len() <= stored && last.is_some_and(|last| last < stored));
        if fits { Ok(()) } else { Err(format!("shape {:?} does not fit into {stored} elements", self.shape)) }
    }

    /// The place of the elements in the data, if they follow each other in row-major order.
    pub(crate) fn in_order(&self) -> Option<Range<usize>> {
        if self.len() == 0 {
            return Some(0..0);
        }
        let row_major = contiguous(&self.shape, (0..self.shape.len()).rev()).ok()?;
        let start = self.offset.checked_mul(self.element_bytes())?;
        let end = self.len().checked_mul(self.element_bytes())?.checked_add(start)?;
        (row_major == self.strides).then_some(start..end)
    }

    /// The elements in row-major order.
    pub(crate) fn gather<'a>(&self, data: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
        self.check_fits(data.len())?;
        if let Some(place) = self.in_order() {
            return Ok(Cow::Borrowed(&data[place]));
        }
        let width = self.element_bytes();
        let mut gathered = Vec::with_capacity(self.len() * width);
        let mut index = vec![0; self.shape.len()];
        let mut at = self.offset;
        for _ in 0..self.len() {
            gathered.extend_from_slice(&data[at * width..][..width]);
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                at += self.strides[axis];
                if index[axis] < self.shape[axis] {
                    break;
                }
                at -= self.strides[axis] * self.shape[axis];
                index[axis] = 0;
            }
        }
        Ok(Cow::Owned(gathered))
    }
}

/// The strides of a shape without gaps, the innermost axis first.
fn contiguous(shape: &[usize], innermost_first: impl Iterator<Item = usize>) -> Result<Vec<usize>, String> {
    if shape.len() > MAX_AXES {
        return Err(format!("{} dimensions, where {MAX_AXES} are supported", shape.len()));
    }
    let mut strides = vec![0; shape.len()];
    let mut stride = 1usize;
    for axis in innermost_first {
        strides[axis] = stride;
        stride = stride.checked_mul(shape[axis]).ok_or_else(|| format!("shape {shape:?} is too large"))?;
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use safetensors::Dtype;

    use super::{MAX_AXES, StoredTensor, Strided};

    const BYTE: Dtype = Dtype::U8;

    #[test]
    fn orders_of_a_matrix() -> Result<(), String> {
        let data = [1, 2, 3, 4, 5, 6];
        let rows = Strided::row_major(BYTE, vec![2, 3])?;
        assert_eq!(rows.gather(&data)?.as_ref(), data);
        assert_eq!(rows.transposed().gather(&data)?.as_ref(), [1, 4, 2, 5, 3, 6]);
        let columns = Strided::column_major(BYTE, vec![2, 3])?;
        assert_eq!(columns.gather(&data)?.as_ref(), [1, 3, 5, 2, 4, 6]);
        assert_eq!(columns.row(1)?.gather(&data)?.as_ref(), [2, 4, 6]);
        assert!(columns.row(2).is_err_and(|problem| problem == "there is no row 2 among 2"));
        assert!(Strided::row_major(BYTE, vec![])?.row(0).is_err());
        let part = Strided::with_strides(BYTE, vec![2, 2], vec![3, 1], 1)?;
        assert_eq!(part.gather(&data)?.as_ref(), [2, 3, 5, 6]);
        let wide = Strided::row_major(Dtype::BF16, vec![3, 1])?.transposed();
        assert_eq!(wide.gather(&data)?.as_ref(), data);
        assert_eq!(Strided::row_major(BYTE, vec![])?.gather(&data)?.as_ref(), [1]);
        Ok(())
    }

    #[test]
    fn what_is_not_there_is_an_error() -> Result<(), String> {
        assert!(Strided::row_major(BYTE, vec![7])?.gather(&[0; 6]).is_err());
        assert!(Strided::with_strides(BYTE, vec![1], vec![1], 6)?.gather(&[0; 6]).is_err());
        assert!(Strided::with_strides(BYTE, vec![7], vec![0], 0)?.gather(&[0; 6]).is_err());
        assert!(Strided::row_major(BYTE, vec![usize::MAX, 2]).is_err());
        assert!(Strided::row_major(BYTE, vec![1; MAX_AXES + 1]).is_err());
        assert!(Strided::with_strides(BYTE, vec![2, 2], vec![1], 0).is_err());
        assert!(Strided::with_strides(BYTE, vec![2], vec![usize::MAX], 1)?.gather(&[0; 6]).is_err());
        assert_eq!(Strided::row_major(BYTE, vec![0, 9])?.gather(&[])?.len(), 0);
        Ok(())
    }

    #[test]
    fn every_type_of_float_becomes_f32() -> Result<(), String> {
        for (dtype, bytes) in [
            (Dtype::F16, &[0x00, 0xbe, 0x00, 0x34][..]),
            (Dtype::BF16, &[0xc0, 0xbf, 0x80, 0x3e]),
            (Dtype::F32, &[0, 0, 0xc0, 0xbf, 0, 0, 0x80, 0x3e]),
            (Dtype::F64, &[0, 0, 0, 0, 0, 0, 0xf8, 0xbf, 0, 0, 0, 0, 0, 0, 0xd0, 0x3f]),
        ] {
            let tensor = StoredTensor { layout: Strided::row_major(dtype, vec![2])?, data: bytes.into() };
            assert_eq!(tensor.to_f32()?, [-1.5, 0.25], "{dtype}");
        }
        let integers = StoredTensor { layout: Strided::row_major(BYTE, vec![1])?, data: (&[1][..]).into() };
        assert!(integers.to_f32().is_err_and(|problem| problem.contains("U8")));
        Ok(())
    }

    proptest! {
        #[test]
        fn any_view_is_read_or_refused(
            shape in prop::collection::vec(0usize..5, 0..4),
            strides in prop::collection::vec(0usize..7, 0..4),
            offset in 0usize..9,
        ) {
            let data: Vec<u8> = (0..40).collect();
            let view = Strided::with_strides(BYTE, shape.clone(), strides.clone(), offset);
            if let Ok(view) = view && let Ok(gathered) = view.gather(&data) {
                let mut expected = vec![offset];
                for (size, stride) in shape.iter().zip(&strides) {
                    let along = |&at: &usize| (0..*size).map(move |i| at + i * stride);
                    expected = expected.iter().flat_map(along).collect();
                }
                let expected: Vec<u8> = expected.iter().map(|&at| data[at]).collect();
                prop_assert_eq!(gathered.as_ref(), expected);
            }
        }
    }
}
