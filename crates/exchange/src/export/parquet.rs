//! Parquet: a column `id` of strings and a column `embedding` of lists of floats, in Arrow's layout.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use half::f16;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, FloatType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use toller_files::{AtomicFile, FileError};
use toller_store::{Shard, Store};

use crate::ExchangeError;
use crate::progress::{Progress, report};

/// Numbers of a row group, at most: 16 MB of f32, which is held in memory while it is written.
const GROUP_NUMBERS: usize = 1 << 22;

/// Definition levels of `embedding.list.element`: the list may be null, a list may be empty.
const ELEMENT_IS_THERE: i16 = 2;

/// Writes the ids and the vectors, of halffloat or float.
pub(super) fn write(
    store: &Store,
    file: &mut AtomicFile,
    half: bool,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    let path = file.destination().to_owned();
    let failed = |error: ParquetError| write_error(&path, error);
    let schema = Arc::new(schema(half).map_err(failed)?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties())).map_err(failed)?;
    let mut done = 0;
    for shard in store.shards() {
        let group_rows = (GROUP_NUMBERS / store.dim()).max(1);
        for first in (0..shard.rows()).step_by(group_rows) {
            let rows = first..shard.rows().min(first + group_rows);
            done += rows.len() as u64;
            let mut group = writer.next_row_group().map_err(failed)?;
            write_group(&mut group, shard, rows, store.dim(), half).map_err(failed)?;
            group.close().map_err(failed)?;
            report(progress, done)?;
        }
    }
    writer.close().map_err(failed)?;
    Ok(())
}

/// `message { required binary id (STRING); optional group embedding (LIST) { repeated group list {
/// required float element } } }`
fn schema(half: bool) -> Result<Type, ParquetError> {
    let id = Type::primitive_type_builder("id", PhysicalType::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::String))
        .build()?;
    let element = if half {
        Type::primitive_type_builder("element", PhysicalType::FIXED_LEN_BYTE_ARRAY)
            .with_length(2)
            .with_logical_type(Some(LogicalType::Float16))
    } else {
        Type::primitive_type_builder("element", PhysicalType::FLOAT)
    };
    let element = element.with_repetition(Repetition::REQUIRED).build()?;
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    let embedding = Type::group_type_builder("embedding")
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()?;
    Type::group_type_builder("schema").with_fields(vec![Arc::new(id), Arc::new(embedding)]).build()
}

fn properties() -> WriterProperties {
    // The digits of embeddings are noise: neither a dictionary nor compression makes them smaller.
    let embedding = ColumnPath::new(["embedding", "list", "element"].map(str::to_owned).to_vec());
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_column_compression(embedding.clone(), Compression::UNCOMPRESSED)
        .set_column_dictionary_enabled(embedding, false)
        .set_created_by(concat!("toller ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
}

fn write_group<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    shard: &Shard,
    rows: std::ops::Range<usize>,
    dim: usize,
    half: bool,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("a column of the schema is missing".to_owned());
    let ids: Vec<ByteArray> = rows.clone().map(|row| ByteArray::from(shard.id(row))).collect();
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<ByteArrayType>().write_batch(&ids, None, None)?;
    column.close()?;

    let mut numbers = vec![0.0_f32; rows.len() * dim];
    shard.embeddings().widen(rows.start * dim..rows.end * dim, &mut numbers);
    let definitions = vec![ELEMENT_IS_THERE; numbers.len()];
    // 0 where a list begins.
    let repetitions: Vec<i16> = (0..numbers.len()).map(|place| i16::from(place % dim != 0)).collect();
    let mut column = group.next_column()?.ok_or_else(missing)?;
    if half {
        // Slices of one allocation.
        let bytes: Vec<u8> = numbers.iter().flat_map(|&number| f16::from_f32(number).to_le_bytes()).collect();
        let bytes = ByteArray::from(bytes);
        let halves: Vec<FixedLenByteArray> =
            (0..numbers.len()).map(|place| bytes.slice(2 * place, 2).into()).collect();
        column.typed::<FixedLenByteArrayType>().write_batch(
            &halves,
            Some(&definitions),
            Some(&repetitions),
        )?;
    } else {
        column.typed::<FloatType>().write_batch(&numbers, Some(&definitions), Some(&repetitions))?;
    }
    column.close()?;
    Ok(())
}

/// The writer's error, which is one of the file beneath it.
fn write_error(path: &Path, error: ParquetError) -> ExchangeError {
    let source = match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => *source,
            Err(source) => std::io::Error::other(source),
        },
        other => std::io::Error::other(other),
    };
    FileError::new("write", path, source).into()
}
