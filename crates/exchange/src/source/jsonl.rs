//! JSON lines with an id and a vector each, as Pyserini and Anserini write them.

use std::fmt;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use toller_files::{FileError, Input, InputReader};
use toller_ir::{Setting, in_words_of_json_line, remedy};

use super::{ID_NAMES, VECTOR_NAMES, VisitRow};
use crate::ids::Id;
use crate::{ExchangeError, VectorFormat};

/// The longest line: far beyond any vector with its text, and a bound on the memory.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// A file of JSON lines with vectors.
pub(super) struct JsonlVectors {
    path: PathBuf,
    /// The fields of the ids and of the vectors, which all lines must have.
    id: String,
    vector: String,
    rows: u64,
    /// The length of the first vector.
    dim: usize,
}

impl JsonlVectors {
    /// Reads a file to its end, to count its vectors; `None` if it has none. The fields are those of these
    /// names, if they are given, else the first usual ones that the first line has.
    pub(super) fn open(
        path: &Path,
        (id_column, vector_column): (Option<&str>, Option<&str>),
    ) -> Result<Option<Self>, ExchangeError> {
        let mut first = None;
        let mut rows = 0;
        for_each_line(path, |row, line| {
            rows += 1;
            if first.is_none() {
                let fields = parsed(path, row, line, Fields)?;
                let id = named(path, &fields, id_column, &ID_NAMES)?;
                let vector = named(path, &fields, vector_column, &VECTOR_NAMES)?;
                let (_, numbers) = parsed(path, row, line, Record { id: &id, vector: &vector })?;
                let dim = numbers.map_or(0, |numbers| numbers.len());
                if dim == 0 {
                    return Err(invalid(path, row, "its vector has no numbers".to_owned()));
                }
                first = Some((id, vector, dim));
            }
            Ok(())
        })?;
        Ok(first.map(|(id, vector, dim)| Self { path: path.to_owned(), id, vector, rows, dim }))
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// Calls `visit` for each row.
    pub(super) fn for_each(&self, visit: &mut VisitRow<'_>) -> Result<(), ExchangeError> {
        for_each_line(&self.path, |row, line| {
            let seed = Record { id: &self.id, vector: &self.vector };
            let (id, vector) = parsed(&self.path, row, line, seed)?;
            let missing = |name: &str| invalid(&self.path, row, format!("it has no field {name}"));
            let id = id.ok_or_else(|| missing(&self.id))?;
            visit(row, &id, &vector.ok_or_else(|| missing(&self.vector))?)
        })
    }
}

/// Calls `visit` with each line that is not blank, and its number from zero.
fn for_each_line(
    path: &Path,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), ExchangeError>,
) -> Result<(), ExchangeError> {
    let mut reader = InputReader::open(&Input::File(path.to_owned()))?;
    let mut line = Vec::new();
    for row in 0.. {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line);
        let length = read.map_err(FileError::on("read", path))? as u64;
        if length == 0 {
            break;
        }
        if length > MAX_LINE_BYTES {
            return Err(invalid(path, row, format!("it is longer than {MAX_LINE_BYTES} bytes")));
        }
        if !line.trim_ascii().is_empty() {
            visit(row, &line)?;
        }
    }
    Ok(())
}

/// What `seed` makes of a line.
fn parsed<T>(
    path: &Path,
    row: u64,
    line: &[u8],
    seed: impl for<'de> DeserializeSeed<'de, Value = T>,
) -> Result<T, ExchangeError> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let value = seed.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    value.map_err(|error| invalid(path, row, in_words_of_json_line(&error)))
}

fn invalid(path: &Path, row: u64, reason: String) -> ExchangeError {
    let reason = format!("line {}: {reason}", row + 1);
    ExchangeError::Invalid { path: path.to_owned(), format: VectorFormat::Jsonl, reason }
}

/// The first of the usual names that is a field; a given name is the only candidate.
fn named(
    path: &Path,
    fields: &[String],
    given: Option<&str>,
    usual: &[&str],
) -> Result<String, ExchangeError> {
    let names = given.as_ref().map_or(usual, std::slice::from_ref);
    let found = names.iter().find(|name| fields.iter().any(|field| field == **name));
    found.map(|name| (*name).to_owned()).ok_or_else(|| ExchangeError::Unsupported {
        path: path.to_owned(),
        what: format!("its first line has no field {}; it has {}", names.join(" or "), fields.join(", ")),
        remedy: remedy!(
            "name the fields with `{}` (a string or an integer) and `{}` (a list of numbers)",
            Setting::IdColumn,
            Setting::VectorColumn
        ),
    })
}

/// The names of an object's fields.
struct Fields;

impl<'de> DeserializeSeed<'de> for Fields {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<String>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object with an identifier and a vector")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Vec<String>, A::Error> {
        let mut fields = Vec::new();
        while let Some((field, IgnoredAny)) = object.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

/// The id and the vector of an object, by the names of their fields.
struct Record<'a> {
    id: &'a str,
    vector: &'a str,
}

impl<'de> DeserializeSeed<'de> for Record<'_> {
    type Value = (Option<String>, Option<Vec<f32>>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Record<'_> {
    type Value = (Option<String>, Option<Vec<f32>>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Fields.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let (mut id, mut vector) = (None, None);
        while let Some(field) = object.next_key::<String>()? {
            if field == self.id {
                id = Some(object.next_value::<Id>()?.into());
            } else if field == self.vector {
                vector = Some(object.next_value()?);
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok((id, vector))
    }
}
