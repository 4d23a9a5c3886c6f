//! Mappings as arguments.

use indexmap::IndexMap;
use indexmap::map::Entry;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyMapping};

use crate::error::Failed;

/// A dict or any other mapping by identifiers, in its order. Identifiers are strings or integers.
pub(crate) struct Mapped<V>(pub(crate) IndexMap<String, V>);

impl<'py, V: FromPyObjectOwned<'py>> FromPyObject<'_, 'py> for Mapped<V> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let items = given.cast::<PyMapping>()?.items()?;
        let mut mapped = IndexMap::with_capacity(items.len());
        for item in items {
            let (id, value): (Bound<'_, PyAny>, V) = item.extract()?;
            let name = identifier(&id)?;
            match mapped.entry(name) {
                Entry::Vacant(entry) => drop(entry.insert(value)),
                Entry::Occupied(entry) => {
                    let message = format!("the identifier {:?} occurs twice", entry.key());
                    return Err(Failed::invalid(message).hint("give 1 or \"1\", not both").into());
                }
            }
        }
        Ok(Self(mapped))
    }
}

/// An identifier: a string or an integer.
pub(crate) fn identifier(given: &Bound<'_, PyAny>) -> PyResult<String> {
    given.extract().or_else(|error: PyErr| integer(given).ok_or(error))
}

/// The digits of an integer of Python, numpy or another library that has integers; `None` for anything else.
pub(crate) fn integer(value: &Bound<'_, PyAny>) -> Option<String> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    value.call_method0("__index__").ok().map(|number| number.to_string())
}

/// A grade of relevance: a whole number. Tables make floats of them.
#[derive(Clone, Copy)]
pub(crate) struct Grade(pub(crate) i32);

impl<'py> FromPyObject<'_, 'py> for Grade {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(grade) = given.extract() {
            return Ok(Self(grade));
        }
        match given.extract::<f64>() {
            Ok(grade) if f64::from(grade as i32) == grade => Ok(Self(grade as i32)),
            _ => {
                let message = format!("the grade {} is not a whole number", given.repr()?);
                Err(Failed::invalid(message).hint("give grades such as 0, 1 and 2").into())
            }
        }
    }
}
