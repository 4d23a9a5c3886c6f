//! A tensor on the host.

use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;

use crate::ModelError;

#[cfg(target_endian = "big")]
compile_error!("weights are little-endian and are used as they lie in the file");

/// An f32 tensor in row-major order. A clone shares the values, which are owned or lie in a mapped file.
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

struct Inner {
    shape: Vec<usize>,
    values: Values,
}

enum Values {
    Owned(Vec<f32>),
    /// Aligned for f32 and within the map.
    Mapped {
        map: Arc<Mmap>,
        place: Range<usize>,
    },
}

impl Tensor {
    /// A tensor of values in row-major order.
    ///
    /// # Errors
    /// [`ModelError::TensorLength`] when the shape needs more or fewer values.
    pub fn new(shape: Vec<usize>, values: Vec<f32>) -> Result<Self, ModelError> {
        let needed = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        if needed != Some(values.len()) {
            return Err(ModelError::TensorLength { shape, values: values.len() });
        }
        Ok(Self(Arc::new(Inner { shape, values: Values::Owned(values) })))
    }

    /// The little-endian values at `place` in a file, without a copy; `None` where they are not aligned.
    pub(crate) fn mapped(shape: &[usize], map: &Arc<Mmap>, place: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, f32>(map.get(place.clone())?).ok()?;
        let values = Values::Mapped { map: Arc::clone(map), place };
        Some(Self(Arc::new(Inner { shape: shape.to_vec(), values })))
    }

    /// The size of each axis.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// The values in row-major order.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        match &self.0.values {
            Values::Owned(values) => values,
            Values::Mapped { map, place } => bytemuck::cast_slice(&map[place.clone()]),
        }
    }
}

/// The values' bytes, little-endian.
impl AsRef<[u8]> for Tensor {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(self.values())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use memmap2::MmapMut;

    use super::Tensor;

    #[test]
    fn a_shape_needs_its_number_of_values() {
        assert!(Tensor::new(vec![2, 3], vec![0.0; 6]).is_ok());
        assert!(Tensor::new(vec![], vec![0.0]).is_ok());
        assert!(Tensor::new(vec![2, 3], vec![0.0; 5]).is_err());
        assert!(Tensor::new(vec![usize::MAX, 2], vec![]).is_err());
    }

    #[test]
    fn aligned_values_stay_in_the_map() -> std::io::Result<()> {
        let mut map = MmapMut::map_anon(16)?;
        map[4..8].copy_from_slice(&1.5f32.to_le_bytes());
        let map = Arc::new(map.make_read_only()?);
        let tensor = Tensor::mapped(&[1, 2], &map, 4..12);
        let values = tensor.as_ref().map(Tensor::values);
        assert_eq!(values, Some(&[1.5, 0.0][..]));
        assert_eq!(values.map(|values| values.as_ptr().cast()), Some(map[4..].as_ptr()));
        assert!(Tensor::mapped(&[1], &map, 6..10).is_none(), "not aligned");
        assert!(Tensor::mapped(&[1], &map, 16..20).is_none(), "outside");
        Ok(())
    }
}
