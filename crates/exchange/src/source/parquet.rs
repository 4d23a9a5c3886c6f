//! Parquet files with a column of ids and one of lists of floats.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;
use toller_corpus::parquet::{Column, ListColumn, Precision, Value, guard};
use toller_files::{FileError, open_regular};
use toller_ir::{Setting, remedy};

use super::{ID_NAMES, VECTOR_NAMES, VisitRow};
use crate::{ExchangeError, VectorFormat};

/// A Parquet file of vectors.
pub(super) struct ParquetVectors {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    /// The indexes of the leaf columns.
    id: usize,
    vector: usize,
    precision: Precision,
    /// The length of the first vector, if there is one.
    dim: Option<usize>,
}

impl ParquetVectors {
    /// Opens a file, with the columns of these names, if they are given.
    pub(super) fn open(
        path: &Path,
        (id_column, vector_column): (Option<&str>, Option<&str>),
    ) -> Result<Self, ExchangeError> {
        let file = open_regular(path).map_err(FileError::on("open", path))?;
        let reader = guarded(path, || SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let (id, _) = find(path, schema, id_column, &ID_NAMES, "strings or integers", |column| {
            (schema.column(column).max_rep_level() == 0).then_some(())
        })?;
        let (vector, precision) =
            find(path, schema, vector_column, &VECTOR_NAMES, "lists of floats", |column| {
                Precision::of(&schema.column(column))
            })?;
        let mut opened = Self { path: path.to_owned(), reader, id, vector, precision, dim: None };
        opened.dim = opened.first_dim()?;
        Ok(opened)
    }

    pub(super) fn rows(&self) -> u64 {
        let groups = self.reader.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).fold(0, u64::saturating_add)
    }

    pub(super) fn dim_and_precision(&self) -> Option<(usize, Precision)> {
        self.dim.map(|dim| (dim, self.precision))
    }

    fn first_dim(&self) -> Result<Option<usize>, ExchangeError> {
        let groups = self.reader.metadata().row_groups();
        let Some(index) = groups.iter().position(|group| group.num_rows() > 0) else { return Ok(None) };
        guarded(&self.path, || {
            let group = self.reader.get_row_group(index)?;
            Ok(Some(ListColumn::open(group.as_ref(), self.vector)?.next()?.len()))
        })
    }

    /// Calls `visit` for each row.
    pub(super) fn for_each(&self, visit: &mut VisitRow<'_>) -> Result<(), ExchangeError> {
        let mut row = 0;
        let mut vector = Vec::new();
        for index in 0..self.reader.num_row_groups() {
            let (mut ids, mut vectors, rows) = guarded(&self.path, || {
                let group = self.reader.get_row_group(index)?;
                let ids = Column::open(group.as_ref(), self.id)?;
                Ok((ids, ListColumn::open(group.as_ref(), self.vector)?, group.metadata().num_rows()))
            })?;
            for _ in 0..rows {
                let id = guarded(&self.path, || {
                    vector.clear();
                    vector.extend_from_slice(vectors.next()?);
                    ids.next()
                })?;
                visit(row, &self.identifier(id, row)?, &vector)?;
                row += 1;
            }
        }
        Ok(())
    }

    fn identifier(&self, id: Option<Value>, row: u64) -> Result<String, ExchangeError> {
        let bad = |reason: &str| ExchangeError::BadId {
            path: self.path.clone(),
            row: row + 1,
            reason: reason.to_owned(),
        };
        match id {
            Some(Value::Text(bytes)) => {
                bytes.as_utf8().map(str::to_owned).map_err(|_| bad("the identifier is not UTF-8"))
            }
            Some(Value::Integer(number)) => Ok(number.to_string()),
            None => Err(bad("the identifier is null")),
        }
    }
}

/// The leaf column with the first of these names that `of_kind` accepts; a given name is the only candidate.
/// The numbers of a list are nested deeper, so a column is known by the first part of its path.
fn find<T>(
    path: &Path,
    schema: &SchemaDescriptor,
    given: Option<&str>,
    usual: &[&str],
    kind: &str,
    of_kind: impl Fn(usize) -> Option<T>,
) -> Result<(usize, T), ExchangeError> {
    let names = given.as_ref().map_or(usual, std::slice::from_ref);
    let of_name = |name: &&str| {
        let mut columns = (0..schema.num_columns()).filter(|&column| {
            schema.column(column).path().parts().first().is_some_and(|first| first == name)
        });
        columns.find_map(|column| Some((column, of_kind(column)?)))
    };
    names.iter().find_map(of_name).ok_or_else(|| {
        let columns: Vec<&str> = schema.root_schema().get_fields().iter().map(|field| field.name()).collect();
        let what = match names.iter().find(|name| columns.contains(name)) {
            Some(name) => format!("its column {name} does not hold {kind}"),
            None => format!("it has no column {}; it has {}", names.join(" or "), columns.join(", ")),
        };
        let remedy = remedy!(
            "name the columns with `{}` (strings or integers) and `{}` (lists of floats)",
            Setting::IdColumn,
            Setting::VectorColumn
        );
        ExchangeError::Unsupported { path: path.to_owned(), what, remedy }
    })
}

fn guarded<T>(path: &Path, call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ExchangeError> {
    guard(call).map_err(|error| ExchangeError::Invalid {
        path: path.to_owned(),
        format: VectorFormat::Parquet,
        reason: error.to_string(),
    })
}
