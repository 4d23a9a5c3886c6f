//! Rows of a store or an index as an argument, by their numbers.

use std::fmt;

use numpy::{PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::Failed;

/// The numbers of rows, from any iterable. A mask is refused: its values would be taken for the rows 0 and 1.
/// `argument` is the name of the argument.
pub(crate) fn row_numbers(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Vec<u32>> {
    if let Some(rows) = rows_of_array(given, argument) {
        return rows;
    }
    let number = |row: PyResult<Bound<'_, PyAny>>| -> PyResult<u32> {
        let row = row?;
        // No mask has more than 1. What has less may be of Python's bool, or of NumPy's in versions 2 and 1.
        let found = row.extract::<u32>();
        if let Ok(number @ 2..) = found {
            return Ok(number);
        }
        let of = row.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        if matches!(&*of, "bool" | "bool_") {
            let failed = Failed::invalid(format!("{argument} is a mask, and row numbers are expected"));
            return Err(failed.hint("give the rows where the mask is true: numpy.flatnonzero(mask)").into());
        }
        found.map_err(|_| not_a_row(&row, argument))
    };
    given.try_iter()?.map(number).collect()
}

/// The rows of an array of integers: of millions, each would become an object of Python. The crate reads
/// wrong numbers of arrays that are not aligned.
fn rows_of_array(given: &Bound<'_, PyAny>, argument: &str) -> Option<PyResult<Vec<u32>>> {
    given.cast::<PyUntypedArray>().ok().filter(|array| array.is_aligned())?;
    if let Ok(rows) = given.extract::<PyReadonlyArray1<'_, i64>>() {
        let number = |row: &i64| u32::try_from(*row).map_err(|_| not_a_row(row, argument));
        return Some(rows.as_array().iter().map(number).collect());
    }
    given.extract::<PyReadonlyArray1<'_, u32>>().ok().map(|rows| Ok(rows.as_array().to_vec()))
}

fn not_a_row(row: impl fmt::Display, argument: &str) -> PyErr {
    let failed = Failed::invalid(format!("{argument} holds {row}, which is not a row number"));
    failed.hint("give whole numbers of at least 0").into()
}
