//! Collections as Parquet files, read column by column and page by page.

use std::collections::VecDeque;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use toller_files::{Compression, InputReader};
use toller_ir::Passage;

use crate::collection::reader::PassageSource;
use crate::collection::tsv::HEADER;
use crate::error::{BadKind, CorpusError, Place, Position, Wrong};

/// How many rows are decoded at a time.
const BATCH_ROWS: usize = 256;

/// Reads the columns `id`, `text` and, if there is one, `title` (with all the names of other formats).
pub(crate) struct ParquetPassages {
    file: String,
    reader: SerializedFileReader<File>,
    /// The indexes of the leaf columns.
    id: usize,
    text: usize,
    title: Option<usize>,
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
}

impl ParquetPassages {
    /// Opens the file that `reader` reads: Parquet begins with its end, so a stream will not do.
    pub(crate) fn open(
        reader: &InputReader,
        max_text_bytes: usize,
        bytes_read: Arc<AtomicU64>,
    ) -> Result<Self, CorpusError> {
        let file = reader.input().to_string();
        let unsupported = |reason, remedy| CorpusError::Unsupported { file: file.clone(), reason, remedy };
        if reader.compression() != Compression::Plain {
            return Err(unsupported(
                "a compressed Parquet file",
                "decompress it first; Parquet compresses inside",
            ));
        }
        let Some(path) = reader.input().path().filter(|_| reader.total_bytes().is_some()) else {
            return Err(unsupported("Parquet cannot be read from a stream", "save it as a file first"));
        };
        let opened = File::open(path).map_err(|error| reader.input().error("open", error))?;
        let reader = guard(&file, || SerializedFileReader::new(opened))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let find = |names: &[&str]| {
            names.iter().find_map(|name| {
                (0..schema.num_columns()).find(|index| {
                    let column = schema.column(*index);
                    column.path().parts() == [*name] && column.max_rep_level() == 0
                })
            })
        };
        let missing = |names: &[&str]| {
            let columns = schema.columns().iter().map(|column| column.path().string()).collect::<Vec<_>>();
            let message = format!("no column {}; it has {}", names.join(" or "), columns.join(", "));
            CorpusError::Broken { file: file.clone(), format: "parquet", message }
        };
        let id = find(PARQUET_ID).ok_or_else(|| missing(PARQUET_ID))?;
        let text = find(HEADER.text).ok_or_else(|| missing(HEADER.text))?;
        let title = find(HEADER.title);
        Ok(Self {
            id,
            text,
            title,
            file,
            reader,
            max_text_bytes,
            next_group: 0,
            group: None,
            row: 0,
            bytes_read,
        })
    }

    /// Opens the next row group that has rows. Returns false behind the last.
    fn next_group(&mut self) -> Result<bool, CorpusError> {
        while self.next_group < self.reader.num_row_groups() {
            let index = self.next_group;
            self.next_group += 1;
            let (reader, columns) = (&self.reader, (self.id, self.text, self.title));
            let group = guard(&self.file, || {
                let group = reader.get_row_group(index)?;
                let column = |index: usize| -> Result<Column, ParquetError> {
                    let descriptor = group.metadata().column(index).column_descr();
                    let integer = match descriptor.logical_type_ref() {
                        Some(LogicalType::Integer(integer)) => Some(integer.is_signed),
                        _ => None,
                    };
                    let unsigned =
                        integer == Some(false) || descriptor.converted_type() == ConvertedType::UINT_64;
                    Column::new(group.get_column_reader(index)?, descriptor.max_def_level(), unsigned)
                };
                let (id, text, title) = columns;
                Ok(RowGroup {
                    rows_left: u64::try_from(group.metadata().num_rows()).unwrap_or_default(),
                    stored_bytes: u64::try_from(group.metadata().compressed_size()).unwrap_or_default(),
                    id: column(id)?,
                    text: column(text)?,
                    title: title.map(column).transpose()?,
                })
            })?;
            if group.rows_left > 0 {
                self.group = Some(group);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn bad(&self, kind: BadKind, found: String, expected: &str) -> CorpusError {
        let place = Place { file: self.file.clone(), position: self.position() };
        Wrong::new(kind, found, expected).at(place)
    }
}

/// [`HEADER`]'s names in the order in which they count.
const PARQUET_ID: &[&str] = &["_id", "id", "docid", "doc_id", "docno", "pid", "passage_id"];

impl PassageSource for ParquetPassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        let group = loop {
            match self.group.as_mut().filter(|group| group.rows_left > 0) {
                Some(_) => break self.group.as_mut(),
                None => {
                    if let Some(finished) = self.group.take() {
                        self.bytes_read.fetch_add(finished.stored_bytes, Ordering::Relaxed);
                    }
                    if !self.next_group()? {
                        return Ok(None);
                    }
                }
            }
        };
        let Some(group) = group else { return Ok(None) };
        group.rows_left -= 1;
        self.row += 1;
        let (id, text, title) = guard(&self.file, || {
            Ok((group.id.next()?, group.text.next()?, group.title.as_mut().map(Column::next).transpose()?))
        })?;
        let id = match id {
            Some(Value::Text(bytes)) => match bytes.as_utf8() {
                Ok(id) => id.to_owned(),
                Err(_) => {
                    return Err(self.bad(
                        BadKind::InvalidUtf8,
                        "an identifier of other bytes".into(),
                        "UTF-8 text",
                    ));
                }
            },
            Some(Value::Integer(number)) => number.to_string(),
            None => {
                return Err(self.bad(
                    BadKind::EmptyId,
                    "null as the identifier".into(),
                    "a string or an integer",
                ));
            }
        };
        let string = |value, what: &str| match value {
            Some(Value::Text(bytes)) if bytes.len() > self.max_text_bytes => {
                let found = format!("a {what} of {} bytes", bytes.len());
                Err(self.bad(BadKind::TooLong, found, &format!("at most {} bytes", self.max_text_bytes)))
            }
            Some(Value::Text(bytes)) => match bytes.as_utf8() {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(error) => {
                    Err(self.bad(BadKind::InvalidUtf8, format!("a {what} with {error}"), "UTF-8 text"))
                }
            },
            Some(Value::Integer(number)) => {
                Err(self.bad(BadKind::Malformed, format!("the number {number} as the {what}"), "a string"))
            }
            None => Ok(None),
        };
        let title = string(title.flatten(), "title")?.filter(|title| !title.is_empty());
        let Some(text) = string(text, "text")? else {
            return Err(self.bad(BadKind::MissingField, "null as the text".into(), "a string"));
        };
        Ok(Some(Passage { id, title, text }))
    }

    fn position(&self) -> Position {
        Position::Row(self.row)
    }

    fn rows(&self) -> u64 {
        self.row
    }
}

/// A value of a column that is not null.
enum Value {
    Text(ByteArray),
    Integer(i128),
}

/// One column of a row group, decoded a batch at a time.
struct Column {
    reader: ColumnReader,
    max_def_level: i16,
    unsigned: bool,
    decoded: VecDeque<Option<Value>>,
}

impl Column {
    fn new(reader: ColumnReader, max_def_level: i16, unsigned: bool) -> Result<Self, ParquetError> {
        let known = matches!(
            reader,
            ColumnReader::ByteArrayColumnReader(_)
                | ColumnReader::Int32ColumnReader(_)
                | ColumnReader::Int64ColumnReader(_)
        );
        if !known {
            return Err(ParquetError::General("a column is neither of strings nor of integers".to_owned()));
        }
        Ok(Self { reader, max_def_level, unsigned, decoded: VecDeque::with_capacity(BATCH_ROWS) })
    }

    /// The value of the next row, `None` for null.
    fn next(&mut self) -> Result<Option<Value>, ParquetError> {
        if self.decoded.is_empty() {
            let (decoded, max, unsigned) = (&mut self.decoded, self.max_def_level, self.unsigned);
            match &mut self.reader {
                ColumnReader::ByteArrayColumnReader(reader) => decode(reader, max, decoded, Value::Text)?,
                ColumnReader::Int32ColumnReader(reader) => decode(reader, max, decoded, |value| {
                    Value::Integer(if unsigned { i128::from(value as u32) } else { value.into() })
                })?,
                ColumnReader::Int64ColumnReader(reader) => decode(reader, max, decoded, |value| {
                    Value::Integer(if unsigned { i128::from(value as u64) } else { value.into() })
                })?,
                _ => {}
            }
        }
        self.decoded
            .pop_front()
            .ok_or_else(|| ParquetError::EOF("a column ends before its row group".to_owned()))
    }
}

/// Decodes the next batch of a column.
fn decode<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    max_def_level: i16,
    decoded: &mut VecDeque<Option<Value>>,
    value: impl Fn(T::T) -> Value,
) -> Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::with_capacity(BATCH_ROWS), Vec::with_capacity(BATCH_ROWS));
    let (records, _, _) = reader.read_records(BATCH_ROWS, Some(&mut levels), None, &mut values)?;
    let mut values = values.into_iter();
    if max_def_level == 0 {
        decoded.extend(values.map(|found| Some(value(found))));
        return Ok(());
    }
    for level in levels.into_iter().take(records) {
        decoded.push_back(if level == max_def_level { values.next().map(&value) } else { None });
    }
    Ok(())
}

/// Runs a call into the parquet crate. That crate asserts some properties of well-formed files; where a
/// damaged file breaks them, the file is at fault and not the program.
fn guard<T>(file: &str, call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, CorpusError> {
    let message = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the file is damaged".to_owned(),
    };
    Err(CorpusError::Broken { file: file.to_owned(), format: "parquet", message })
}
