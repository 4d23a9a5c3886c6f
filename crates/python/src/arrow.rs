//! Tables of other libraries, through the C interface of Arrow and its capsules for Python.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, downcast_dictionary_array};
use arrow_schema::{DataType, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use toller_corpus::{Cells, ColumnNames, Table, column_index};

use crate::error::Failed;
use crate::given::Kind;

/// Batches of rows, one after the other.
pub(crate) struct Stream {
    name: &'static str,
    reader: RecordBatchStreamReader,
    columns: Columns,
}

/// The places of the columns that are read.
struct Columns {
    id: Option<usize>,
    title: Option<usize>,
    text: usize,
    context: Option<usize>,
}

impl Stream {
    /// Begins to read an object that has `__arrow_c_stream__`.
    pub(crate) fn open(object: &Bound<'_, PyAny>, kind: Kind, columns: &ColumnNames) -> PyResult<Self> {
        let name = kind.name();
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds such a stream. The stream is moved out, and the capsule is
        // left with a released one, as the interface asks for.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(|error| {
            // A stream of one column has another schema.
            Failed::invalid(format!("{name}: not readable as an Arrow table: {error}"))
                .hint("give a table: a series or a column has no identifiers")
        })?;
        let columns = Columns::find(&reader.schema(), kind, columns)?;
        Ok(Self { name, reader, columns })
    }

    /// Whether rows have identifiers.
    pub(crate) fn has_ids(&self) -> bool {
        self.columns.id.is_some()
    }

    /// The next rows, read without Python's lock.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        py.check_signals()?;
        let Some(batch) = py.detach(|| self.reader.next()) else { return Ok(None) };
        Ok(Some(self.columns.of(&batch.map_err(|error| broken(self.name, &error))?)))
    }

    /// All rows. Their texts stay where they are.
    pub(crate) fn hold(mut self, py: Python<'_>) -> PyResult<ArrowTable> {
        let mut table = ArrowTable { name: self.name, batches: Vec::new(), ends: Vec::new() };
        let mut end = 0;
        while let Some(batch) = self.next(py)? {
            end += batch.rows() as u64;
            table.batches.push(batch);
            table.ends.push(end);
        }
        Ok(table)
    }
}

fn broken(name: &str, error: &dyn std::error::Error) -> Failed {
    Failed::other(format!("{name}: not readable as an Arrow stream: {error}"))
}

impl Columns {
    fn find(schema: &Schema, kind: Kind, given: &ColumnNames) -> Result<Self, Failed> {
        let (name, names, fields) = (kind.name(), kind.names(given), schema.fields());
        let header: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let find = |names: &[String]| column_index(&header, names);
        let missing = |what: &str, names: &[String], arguments: &'static str| {
            let (names, header) = (names.join(", "), header.join(", "));
            Failed::invalid(format!("{name}: no column of {what} ({names}); the table has {header}"))
                .hint(format!("name the columns with {arguments}"))
        };
        let of_type = |column: usize, what: &str, fits: fn(&DataType) -> bool, expected: &str| {
            let field = &fields[column];
            if fits(field.data_type()) {
                return Ok(column);
            }
            let message =
                format!("{name}: the column {} of {what} is of type {}", field.name(), field.data_type());
            Err(Failed::invalid(message).hint(format!("cast the column to {expected}")))
        };
        let id = match find(&names.id) {
            Some(id) => Some(of_type(id, "identifiers", is_identifier, "strings or integers")?),
            None if kind == Kind::Passages || given.id.is_some() => {
                return Err(missing("identifiers", &names.id, "id_column"));
            }
            None => None,
        };
        let title = match find(&names.title) {
            Some(title) => Some(of_type(title, "titles", is_text, "strings")?),
            None if given.title.is_some() => return Err(missing("titles", &names.title, "title_column")),
            None => None,
        };
        let text = find(&names.text).ok_or_else(|| missing("texts", &names.text, "text_column"))?;
        let context = match find(&names.context) {
            Some(context) => Some(of_type(context, "contexts", is_text, "strings")?),
            None if given.context.is_some() => {
                return Err(missing("contexts", &names.context, "context_field"));
            }
            None => None,
        };
        Ok(Self { id, title, text: of_type(text, "texts", is_text, "strings")?, context })
    }

    fn of(&self, batch: &RecordBatch) -> Batch {
        let column = |index: usize| batch.column(index).clone();
        Batch {
            id: self.id.map(column),
            title: self.title.map(column),
            text: column(self.text),
            context: self.context.map(column),
        }
    }
}

fn is_text(of: &DataType) -> bool {
    matches!(values_of(of), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null)
}

fn is_identifier(of: &DataType) -> bool {
    is_text(of) || values_of(of).is_integer()
}

/// The type of the values: a categorical column has them in a dictionary.
fn values_of(of: &DataType) -> &DataType {
    if let DataType::Dictionary(_, values) = of { values } else { of }
}

/// Some rows.
pub(crate) struct Batch {
    id: Option<ArrayRef>,
    title: Option<ArrayRef>,
    text: ArrayRef,
    context: Option<ArrayRef>,
}

impl Batch {
    pub(crate) fn rows(&self) -> usize {
        self.text.len()
    }

    /// The values of a row.
    pub(crate) fn cells(&self, row: usize) -> Cells<'_> {
        Cells {
            id: self.id.as_ref().and_then(|array| value(array, row)),
            title: self.title.as_ref().and_then(|array| value(array, row)),
            text: value(&self.text, row),
            context: self.context.as_ref().and_then(|array| value(array, row)),
        }
    }
}

/// A string, or an integer as a string; `None` for null.
fn value(array: &dyn Array, row: usize) -> Option<Cow<'_, str>> {
    if array.is_null(row) {
        return None;
    }
    macro_rules! integer {
        ($type:ty) => {
            Cow::Owned(array.as_primitive::<$type>().value(row).to_string())
        };
    }
    Some(match array.data_type() {
        DataType::Dictionary(..) => return value_of_dictionary(array, row),
        DataType::Utf8 => Cow::Borrowed(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Cow::Borrowed(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Cow::Borrowed(array.as_string_view().value(row)),
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => integer!(Int64Type),
        DataType::UInt8 => integer!(UInt8Type),
        DataType::UInt16 => integer!(UInt16Type),
        DataType::UInt32 => integer!(UInt32Type),
        DataType::UInt64 => integer!(UInt64Type),
        // The columns' types are checked: nulls are left.
        _ => return None,
    })
}

/// The value of a row of a categorical column.
fn value_of_dictionary(array: &dyn Array, row: usize) -> Option<Cow<'_, str>> {
    downcast_dictionary_array!(
        array => value(array.values(), array.key(row)?),
        _ => None
    )
}

/// A table that another library holds.
pub(crate) struct ArrowTable {
    name: &'static str,
    batches: Vec<Batch>,
    /// The rows up to the end of each batch.
    ends: Vec<u64>,
}

impl Table for ArrowTable {
    fn name(&self) -> &str {
        self.name
    }

    fn rows(&self) -> u64 {
        self.ends.last().copied().unwrap_or_default()
    }

    fn cells(&self, row: u64) -> Cells<'_> {
        let place = self.ends.partition_point(|end| *end <= row);
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.batches[place].cells((row - start) as usize)
    }
}
