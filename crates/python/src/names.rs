//! Names as an argument.

use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PySet, PyString};

use crate::paths::wrong_type;

/// Names in one string, or from any iterable, whose items count by what `str` makes of them. A set has no
/// order, so its names are sorted. `what` is what they name.
pub(crate) fn names(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<String>> {
    if given.is_instance_of::<PyString>() {
        return Ok(vec![given.extract()?]);
    }
    let items =
        given.try_iter().map_err(|_| wrong_type(given, &format!("a string of {what} or a list of them")))?;
    let mut names = items.map(|item| item?.str()?.extract()).collect::<PyResult<Vec<String>>>()?;
    if given.is_instance_of::<PySet>() || given.is_instance_of::<PyFrozenSet>() {
        names.sort_unstable();
    }
    Ok(names)
}
