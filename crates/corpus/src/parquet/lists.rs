//! Columns of lists of floats: embeddings.

use half::f16;
use parquet::basic::{LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::ColumnDescriptor;

use super::BATCH_ROWS;

/// What a number of a vector is; the more precise is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Two bytes; in Parquet, with the logical type FLOAT16.
    F16,
    /// Four bytes.
    F32,
    /// Eight bytes.
    F64,
}

impl Precision {
    /// The numbers of a leaf column, if it is one of lists of floats.
    #[must_use]
    pub fn of(column: &ColumnDescriptor) -> Option<Self> {
        let float = match column.physical_type() {
            Type::FLOAT => Self::F32,
            Type::DOUBLE => Self::F64,
            Type::FIXED_LEN_BYTE_ARRAY if column.logical_type_ref() == Some(&LogicalType::Float16) => {
                Self::F16
            }
            _ => return None,
        };
        (column.max_rep_level() == 1).then_some(float)
    }
}

/// One column of a row group, of lists of floats, decoded a batch at a time. A double is rounded to f32.
pub struct ListColumn {
    reader: ColumnReader,
    max_def_level: i16,
    /// The numbers of the decoded rows.
    values: Vec<f32>,
    /// Where each decoded row ends in `values`.
    ends: Vec<usize>,
    /// The decoded rows that were given out.
    taken: usize,
}

impl ListColumn {
    /// The leaf column `index` of `group`, for which [`Precision::of`] knows the type.
    ///
    /// # Errors
    /// When it is another, or the file is damaged.
    pub fn open(group: &dyn RowGroupReader, index: usize) -> Result<Self, ParquetError> {
        let descriptor = group.metadata().column(index).column_descr();
        if Precision::of(descriptor).is_none() {
            return Err(ParquetError::General(format!("{} is not a list of floats", descriptor.path())));
        }
        let max_def_level = descriptor.max_def_level();
        let reader = group.get_column_reader(index)?;
        Ok(Self { reader, max_def_level, values: Vec::new(), ends: Vec::new(), taken: 0 })
    }

    /// The numbers of the next row; none for an empty list and for null.
    ///
    /// # Errors
    /// When there is no next row, a number is null, or the file is damaged.
    #[expect(clippy::should_implement_trait, reason = "it lends what it holds, and the end is an error")]
    pub fn next(&mut self) -> Result<&[f32], ParquetError> {
        if self.taken == self.ends.len() {
            self.values.clear();
            self.ends.clear();
            self.taken = 0;
            self.decode()?;
        }
        let start = self.taken.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let row = self.ends.get(self.taken).and_then(|&end| self.values.get(start..end));
        self.taken += 1;
        row.ok_or_else(|| ParquetError::EOF("a column ends before its row group".to_owned()))
    }

    fn decode(&mut self) -> Result<(), ParquetError> {
        let (max, ends, out) = (self.max_def_level, &mut self.ends, &mut self.values);
        match &mut self.reader {
            ColumnReader::FloatColumnReader(reader) => decode(reader, max, ends, out, |value| Ok(*value)),
            ColumnReader::DoubleColumnReader(reader) => {
                decode(reader, max, ends, out, |value| Ok(*value as f32))
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => decode(reader, max, ends, out, |value| {
                let bytes = value.data().try_into();
                let bytes =
                    bytes.map_err(|_| ParquetError::General("a half float of another size".to_owned()))?;
                Ok(f16::from_le_bytes(bytes).to_f32())
            }),
            _ => Ok(()),
        }
    }
}

/// Decodes the next batch of rows.
fn decode<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    max_def_level: i16,
    ends: &mut Vec<usize>,
    out: &mut Vec<f32>,
    to_f32: impl Fn(&T::T) -> Result<f32, ParquetError>,
) -> Result<(), ParquetError> {
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    reader.read_records(BATCH_ROWS, Some(&mut definitions), Some(&mut repetitions), &mut values)?;
    let mut values = values.iter();
    for (place, (&definition, &repetition)) in definitions.iter().zip(&repetitions).enumerate() {
        if repetition == 0 && place > 0 {
            ends.push(out.len());
        }
        if definition == max_def_level {
            let value = values.next().ok_or_else(|| ParquetError::EOF("numbers are missing".to_owned()))?;
            out.push(to_f32(value)?);
        } else if definition + 1 == max_def_level && repetition > 0 {
            return Err(ParquetError::General("a number of a list is null".to_owned()));
        }
    }
    if !definitions.is_empty() {
        ends.push(out.len());
    }
    Ok(())
}
