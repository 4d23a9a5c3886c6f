//! Identifiers as an argument.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::Failed;
use crate::given::cell;

/// Identifiers from any iterable that has an order: strings or integers, none of them empty.
pub(crate) fn identifiers(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if given.is_instance_of::<PyString>() {
        return Err(Failed::invalid("a string in place of ids").hint("give a list of ids").into());
    }
    let listed = given.py().import("toller._texts")?.getattr("listed")?;
    let ids: Vec<Bound<'_, PyAny>> =
        listed.call1((given, "ids", "one of its columns: df['id']"))?.extract()?;
    let identifier = |(row, id): (usize, &Bound<'_, PyAny>)| {
        let of = match cell(id, true) {
            Ok(Some(id)) if !id.trim().is_empty() => return Ok(id.into_owned()),
            Ok(Some(_)) => "empty".to_owned(),
            Ok(None) => "null".to_owned(),
            Err(of) => of,
        };
        let failed = Failed::invalid(format!("ids, row {}: the identifier is {of}", row + 1));
        Err(failed.hint("give a string or an integer for each vector").into())
    };
    ids.iter().enumerate().map(identifier).collect()
}
