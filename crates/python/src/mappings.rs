//! Mappings as arguments.

use indexmap::IndexMap;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

/// A dict or any other mapping by names, in its order.
pub(crate) struct Mapped<V>(pub(crate) IndexMap<String, V>);

impl<'py, V: FromPyObjectOwned<'py>> FromPyObject<'_, 'py> for Mapped<V> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let items = given.cast::<PyMapping>()?.items()?;
        items.iter().map(|item| item.extract::<(String, V)>()).collect::<PyResult<_>>().map(Self)
    }
}
