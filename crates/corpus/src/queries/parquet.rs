//! Queries as Parquet files, with the columns that JSON has as fields.

use toller_files::InputReader;

use crate::ColumnNames;
use crate::error::CorpusError;
use crate::parquet::file::ParquetFile;
use crate::queries::records::Records;
use crate::queries::sink::QuerySink;

/// Reads one query a row.
pub(crate) fn read_rows(
    reader: &InputReader,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut records = Records::new(columns);
    let mut row = 0;
    ParquetFile::open(reader)?.for_each_row(|fields, place| {
        let query = records.query(fields, None, row, sink).map_err(|wrong| wrong.at(place.clone()));
        row += 1;
        sink.take(place, query)
    })?;
    records.finish(sink);
    Ok(())
}
