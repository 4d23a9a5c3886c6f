//! Options that Python gives by name, as one mapping.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::error::Failed;

/// What the message of an option of a wrong type begins with, before the structure's and the field's name.
const FIELD: &str = "failed to extract field ";

/// Options from a mapping. An option of a wrong type is an error that gives its name and its value.
pub(crate) fn by_name<'a, 'py, T: FromPyObject<'a, 'py>>(given: &'a Bound<'py, PyAny>) -> PyResult<T> {
    given.extract().map_err(|error: T::Error| {
        let error: PyErr = error.into();
        wrong_type(given, &error).unwrap_or(error)
    })
}

/// The error that names the option, if `error` is one of a field.
fn wrong_type(given: &Bound<'_, PyAny>, error: &PyErr) -> Option<PyErr> {
    let (py, message) = (given.py(), error.value(given.py()).to_string());
    let (_, name) = message.strip_prefix(FIELD)?.split_once('.')?;
    let cause = error.cause(py)?;
    let value = given.get_item(name).and_then(|value| value.repr()).ok()?;
    let failed = match cause.is_instance_of::<PyOverflowError>(py) {
        true => Failed::invalid(format!("{name}={value}, which is out of range"))
            .hint("give a whole number of at least 0"),
        false => Failed::invalid(format!("{name}={value}: {}", cause.value(py)))
            .hint(format!("give {name} the type that the function's signature has")),
    };
    Some(failed.into())
}
