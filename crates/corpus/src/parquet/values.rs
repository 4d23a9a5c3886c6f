//! Columns of strings and integers.

use std::collections::VecDeque;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

use super::BATCH_ROWS;

/// A value of a column that is not null.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string, or other bytes.
    Text(ByteArray),
    /// An integer.
    Integer(i128),
}

/// One column of a row group, of strings or integers, decoded a batch at a time.
pub struct Column {
    reader: ColumnReader,
    max_def_level: i16,
    unsigned: bool,
    decoded: VecDeque<Option<Value>>,
}

impl Column {
    /// The leaf column `index` of `group`, which is not repeated.
    ///
    /// # Errors
    /// When its values are neither strings nor integers, or the file is damaged.
    pub fn open(group: &dyn RowGroupReader, index: usize) -> Result<Self, ParquetError> {
        let descriptor = group.metadata().column(index).column_descr();
        let unsigned = match descriptor.logical_type_ref() {
            Some(LogicalType::Integer(integer)) => !integer.is_signed,
            _ => descriptor.converted_type() == ConvertedType::UINT_64,
        };
        let max_def_level = descriptor.max_def_level();
        let reader = group.get_column_reader(index)?;
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
    ///
    /// # Errors
    /// When there is no next row, or the file is damaged.
    #[expect(clippy::should_implement_trait, reason = "null is None here, and the end is an error")]
    pub fn next(&mut self) -> Result<Option<Value>, ParquetError> {
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
