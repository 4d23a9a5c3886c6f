//! numpy's arrays.

use std::borrow::Cow;

use super::{DType, Kind, is_core};
use crate::{Items, PickleError, Value};

/// A pickled `numpy.ndarray`.
#[derive(Clone)]
pub struct Array<'p, 'a> {
    /// The type of the elements.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<usize>,
    /// Whether the first index is the fastest, rather than the last.
    pub fortran_order: bool,
    /// The elements.
    pub content: Content<'p, 'a>,
}

/// The elements of an [`Array`].
#[derive(Clone)]
pub enum Content<'p, 'a> {
    /// Elements of fixed size: exactly as many bytes as the shape and the dtype say.
    Bytes(Cow<'p, [u8]>),
    /// Python objects: exactly as many as the shape says.
    Objects(Items<'p, 'a>),
}

impl<'p, 'a> Array<'p, 'a> {
    /// Reads a pickled array. Its bytes are borrowed, unless they were pickled with protocol 2 or lower.
    ///
    /// # Errors
    /// When the value is not an array, has a dtype that [`DType`] does not have, or has more or fewer bytes
    /// than its shape says.
    pub fn read(value: Value<'p, 'a>) -> Result<Self, PickleError> {
        let object = value.as_object().ok_or_else(|| value.unexpected("a numpy array"))?;
        if is_core(object.callable(), "multiarray", "_reconstruct") {
            // (version, shape, dtype, whether in Fortran order, bytes or a list of objects)
            let class = object.args().get(0).and_then(|class| class.as_global());
            let state = object.state().and_then(|state| state.as_tuple()).and_then(|state| state.array());
            let Some([_, shape, dtype, fortran, content]) =
                state.filter(|_| class == Some(("numpy", "ndarray")))
            else {
                return Err(value.unexpected("a numpy array with its state"));
            };
            let fortran = fortran.as_bool().or_else(|| fortran.as_int().map(|flag| flag != 0));
            let fortran = fortran.ok_or_else(|| value.unexpected("a numpy array with its order"))?;
            Self::new(DType::read(dtype)?, extents(shape)?, fortran, content)
        } else if is_core(object.callable(), "numeric", "_frombuffer") {
            // Protocol 5: (buffer, dtype, shape, order)
            let Some([content, dtype, shape, order]) = object.args().array() else {
                return Err(value.unexpected("a numpy array with its buffer"));
            };
            Self::new(DType::read(dtype)?, extents(shape)?, order.as_str() == Some("F"), content)
        } else {
            Err(value.unexpected("a numpy array"))
        }
    }

    fn new(
        dtype: DType,
        shape: Vec<usize>,
        fortran_order: bool,
        content: Value<'p, 'a>,
    ) -> Result<Self, PickleError> {
        let elements = shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        let bytes = elements.and_then(|elements| elements.checked_mul(dtype.size));
        let content = match (dtype.kind, content.as_list(), content.as_bytes()) {
            (Kind::Object, Some(items), _) if Some(items.len()) == elements => Content::Objects(items),
            (kind, _, Some(data)) if kind != Kind::Object && Some(data.len()) == bytes => {
                Content::Bytes(data)
            }
            _ => {
                return Err(content.unexpected(format!("the elements of a numpy array {shape:?} of {dtype}")));
            }
        };
        Ok(Self { dtype, shape, fortran_order, content })
    }
}

fn extents(shape: Value<'_, '_>) -> Result<Vec<usize>, PickleError> {
    let unexpected = || shape.unexpected("the shape of a numpy array");
    let extents = shape.as_tuple().ok_or_else(unexpected)?;
    extents.iter().map(|extent| extent.as_usize().ok_or_else(unexpected)).collect()
}
