//! Whole numbers that Python gives.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::error::Failed;

/// For a parameter: a number that is negative or too large is an invalid argument, not an OverflowError.
pub(crate) fn whole<'a, 'py, T: FromPyObject<'a, 'py>>(given: &'a Bound<'py, PyAny>) -> PyResult<T> {
    given.extract().map_err(|error: T::Error| {
        let error: PyErr = error.into();
        if !error.is_instance_of::<PyOverflowError>(given.py()) {
            return error;
        }
        Failed::invalid(format!("{given} is out of range"))
            .hint("give a whole number of at least 0 that is not this large")
            .into()
    })
}
