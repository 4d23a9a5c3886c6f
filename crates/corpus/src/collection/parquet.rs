//! Collections as Parquet files, read column by column and page by page.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::file::reader::FileReader;
use parquet::schema::types::ColumnDescPtr;
use toller_files::InputReader;
use toller_ir::{Passage, Position};

use crate::ColumnNames;
use crate::collection::source::PassageSource;
use crate::error::{BadKind, CorpusError, Wrong, listed};
use crate::names::either;
use crate::parquet::file::ParquetFile;
use crate::parquet::{Column, Value};
use crate::text::column_index;

/// Reads the columns `id`, `text` and, if there is one, `title` (with all the names of other formats).
pub(crate) struct ParquetPassages {
    file: ParquetFile,
    /// The indexes of the leaf columns.
    id: usize,
    text: usize,
    title: Option<usize>,
    context: Option<usize>,
    max_text_bytes: usize,
    next_group: usize,
    group: Option<RowGroup>,
    row: u64,
    bytes_read: Arc<AtomicU64>,
}

/// The columns of the open row group.
struct RowGroup {
    rows_left: u64,
    stored_bytes: u64,
    id: Column,
    text: Column,
    title: Option<Column>,
    context: Option<Column>,
}

impl ParquetPassages {
    /// Opens the file that `reader` reads.
    pub(crate) fn open(
        reader: &InputReader,
        max_text_bytes: usize,
        columns: &ColumnNames,
        bytes_read: Arc<AtomicU64>,
    ) -> Result<Self, CorpusError> {
        let file = ParquetFile::open(reader)?;
        let schema = file.reader.metadata().file_metadata().schema_descr();
        // The leaves that hold one value a row of the table, and their names.
        let of_table = |leaf: &&ColumnDescPtr| leaf.path().parts().len() == 1 && leaf.max_rep_level() == 0;
        let leaves = schema.columns().iter().enumerate().filter(|(_, leaf)| of_table(leaf));
        let (leaves, columns_of_table): (Vec<usize>, Vec<String>) =
            leaves.map(|(leaf, column)| (leaf, column.path().string())).unzip();
        let find = |names: &[String]| leaves.get(column_index(&columns_of_table, names)?).copied();
        let there = || {
            let fields = schema.root_schema().get_fields().iter();
            format!("; it has {}", listed(fields.map(|field| field.name())))
        };
        let missing = |names: &[String]| {
            let (file, message) = (file.name().to_owned(), format!("no column {}{}", either(names), there()));
            CorpusError::Broken { file, format: "parquet", message, position: None }
        };
        let names = columns.in_passages();
        let id = find(&names.id).ok_or_else(|| missing(&names.id))?;
        let text = find(&names.text).ok_or_else(|| missing(&names.text))?;
        let title = find(&names.title);
        if names.title_is_given && title.is_none() {
            return Err(names.no_titles(file.name().to_owned(), there()));
        }
        let context = find(&names.context);
        Ok(Self {
            id,
            text,
            title,
            context,
            file,
            max_text_bytes,
            next_group: 0,
            group: None,
            row: 0,
            bytes_read,
        })
    }

    /// Opens the next row group. Returns false after the last.
    fn next_group(&mut self) -> Result<bool, CorpusError> {
        if let Some(finished) = self.group.take() {
            self.bytes_read.fetch_add(finished.stored_bytes, Ordering::Relaxed);
        }
        if self.next_group >= self.file.reader.num_row_groups() {
            return Ok(false);
        }
        let group = self.file.guard(|| {
            let group = self.file.reader.get_row_group(self.next_group)?;
            let column = |index: usize| Column::open(group.as_ref(), index);
            Ok(RowGroup {
                rows_left: u64::try_from(group.metadata().num_rows()).unwrap_or_default(),
                stored_bytes: u64::try_from(group.metadata().compressed_size()).unwrap_or_default(),
                id: column(self.id)?,
                text: column(self.text)?,
                title: self.title.map(column).transpose()?,
                context: self.context.map(column).transpose()?,
            })
        })?;
        self.next_group += 1;
        self.group = Some(group);
        Ok(true)
    }

    fn identifier(&self, value: Option<Value>) -> Result<String, Wrong> {
        match value {
            Some(Value::Text(bytes)) => bytes
                .as_utf8()
                .map(str::to_owned)
                .map_err(|_| Wrong::new(BadKind::InvalidUtf8, "an identifier of other bytes", "UTF-8 text")),
            Some(Value::Integer(number)) => Ok(number.to_string()),
            None => Err(Wrong::new(BadKind::EmptyId, "null as the identifier", "a string or an integer")),
        }
    }

    fn string(&self, value: Option<Value>, what: &str) -> Result<Option<String>, Wrong> {
        match value {
            Some(Value::Text(bytes)) if bytes.len() > self.max_text_bytes => {
                let found = format!("a {what} of {} bytes", bytes.len());
                Err(Wrong::new(BadKind::TooLong, found, format!("at most {} bytes", self.max_text_bytes)))
            }
            Some(Value::Text(bytes)) => bytes.as_utf8().map(|text| Some(text.to_owned())).map_err(|error| {
                Wrong::new(BadKind::InvalidUtf8, format!("a {what} with {error}"), "UTF-8 text")
            }),
            Some(Value::Integer(number)) => {
                Err(Wrong::new(BadKind::Malformed, format!("the number {number} as the {what}"), "a string"))
            }
            None => Ok(None),
        }
    }
}

impl PassageSource for ParquetPassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        while self.group.as_ref().is_none_or(|group| group.rows_left == 0) {
            if !self.next_group()? {
                return Ok(None);
            }
        }
        let Some(group) = &mut self.group else { return Ok(None) };
        group.rows_left -= 1;
        self.row += 1;
        let (id, text, title, context) = self.file.guard(|| {
            let optional = |column: &mut Option<Column>| column.as_mut().map(Column::next).transpose();
            let (title, context) = (optional(&mut group.title)?, optional(&mut group.context)?);
            Ok((group.id.next()?, group.text.next()?, title.flatten(), context.flatten()))
        })?;
        let place = self.file.place(self.row);
        let passage = || {
            let id = self.identifier(id)?;
            let title = self.string(title, "title")?.filter(|title| !title.is_empty());
            let missing = || Wrong::new(BadKind::MissingColumn, "null as the text", "a string");
            let text = self.string(text, "text")?.ok_or_else(missing)?;
            Ok(Passage { id, title, text, context: self.string(context, "context")? })
        };
        passage().map(Some).map_err(|wrong: Wrong| wrong.at(place))
    }

    fn position(&self) -> Position {
        Position::Row(self.row)
    }

    fn rows(&self) -> u64 {
        self.row
    }
}
