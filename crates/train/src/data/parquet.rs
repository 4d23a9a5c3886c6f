//! Examples in Parquet: a row is a record whose fields are the columns.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use toller_corpus::parquet::guard;
use toller_files::FileError;
use toller_ir::Position;

use crate::TrainError;

/// Writes each row as a line of JSON, its columns in the order of the file.
pub(super) fn write_lines(path: &Path, file: &File, out: &mut impl Write) -> Result<(), TrainError> {
    // A row becomes a line.
    let bad = |row: usize, problem: String| {
        let position = Position::Line(row as u64 + 1);
        TrainError::Record { path: path.to_owned(), position, problem }
    };
    let file = file.try_clone().map_err(FileError::on("open", path))?;
    let reader = guard(|| SerializedFileReader::new(file)).map_err(|error| bad(0, error.0))?;
    let mut rows = guard(|| reader.get_row_iter(None)).map_err(|error| bad(0, error.0))?;
    for number in 0.. {
        let row = guard(|| rows.next().transpose()).map_err(|error| bad(number, error.0))?;
        let Some(row) = row else { break };
        let columns: Result<Vec<String>, String> = row
            .get_column_iter()
            .map(|(name, field)| Ok(format!("{}:{}", Value::from(name.as_str()), json(field)?)))
            .collect();
        let columns = columns.map_err(|problem| bad(number, problem))?;
        writeln!(out, "{{{}}}", columns.join(","))
            .map_err(FileError::on("make a temporary copy of", path))?;
    }
    Ok(())
}

/// A value as JSON.
fn json(field: &Field) -> Result<Value, String> {
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(value) => (*value).into(),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::UByte(value) => (*value).into(),
        Field::UShort(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Float16(value) => f64::from(*value).into(),
        Field::Float(value) => f64::from(*value).into(),
        Field::Double(value) => (*value).into(),
        Field::Str(text) => text.as_str().into(),
        Field::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes.data());
            text.map_err(|_| "a column of bytes that are not text".to_owned())?.into()
        }
        Field::ListInternal(list) => list.elements().iter().map(json).collect::<Result<Vec<_>, _>>()?.into(),
        Field::Group(row) => {
            let fields = row.get_column_iter().map(|(name, field)| Ok((name.clone(), json(field)?)));
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
        other => return Err(format!("{other}, where a text, a number or a list is expected")),
    })
}
