//! The rows of small Parquet files as objects, as if they were JSON.

use std::borrow::Cow;

use parquet::file::reader::FileReader;
use parquet::record::Field;

use crate::error::{CorpusError, Place};
use crate::parquet::file::ParquetFile;
use crate::text::{Loose, Object};

impl ParquetFile {
    /// Calls `take` with each row and its place.
    pub(crate) fn for_each_row(
        &self,
        mut take: impl FnMut(Object<'static>, Place) -> Result<(), CorpusError>,
    ) -> Result<(), CorpusError> {
        let mut rows = self.guard(|| self.reader.get_row_iter(None))?;
        let mut count = 0;
        while let Some(row) = self.guard(|| rows.next().transpose())? {
            count += 1;
            let fields = row.into_columns().into_iter().map(|(name, field)| (name, loose(field)));
            take(fields.collect(), self.place(count))?;
        }
        Ok(())
    }
}

fn loose(field: Field) -> Loose<'static> {
    match field {
        Field::Null => Loose::Null,
        Field::Bool(_) => Loose::Bool,
        Field::Byte(number) => Loose::Integer(number.into()),
        Field::Short(number) => Loose::Integer(number.into()),
        Field::Int(number) => Loose::Integer(number.into()),
        Field::Long(number) => Loose::Integer(number.into()),
        Field::UByte(number) => Loose::Integer(number.into()),
        Field::UShort(number) => Loose::Integer(number.into()),
        Field::UInt(number) => Loose::Integer(number.into()),
        Field::ULong(number) => Loose::Integer(number.into()),
        Field::Float16(number) => Loose::Float(number.into()),
        Field::Float(number) => Loose::Float(number.into()),
        Field::Double(number) => Loose::Float(number),
        Field::Str(text) => Loose::String(Cow::Owned(text)),
        // Some writers do not say that strings are strings.
        Field::Bytes(bytes) => {
            bytes.as_utf8().map_or(Loose::Object, |text| Loose::String(Cow::Owned(text.to_owned())))
        }
        Field::ListInternal(list) => Loose::List(list.elements().iter().cloned().map(loose).collect()),
        _ => Loose::Object,
    }
}
