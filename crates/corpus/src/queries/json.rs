//! Queries as JSON: BEIR's and DuReader's lines, DPR's, EntityQuestions' array, and objects over any lines.

use toller_files::InputReader;

use crate::ColumnNames;
use crate::error::CorpusError;
use crate::queries::lines::for_each_line;
use crate::queries::records::Records;
use crate::queries::sink::QuerySink;
use crate::text::{ObjectReader, RecordLines};

/// Reads one JSON object a line.
pub(crate) fn read_lines(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut records = Records::new(columns);
    for_each_line(RecordLines::json(reader, max_bytes), sink, |line, row, sink| {
        records.json_query(line, row, sink).map(Some)
    })?;
    records.finish(sink);
    Ok(())
}

/// Reads objects over any lines, one after another or in one array.
pub(crate) fn read_objects(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut records = Records::new(columns);
    let mut objects = ObjectReader::new(reader, max_bytes);
    loop {
        let query = match objects.advance() {
            Ok(false) => break,
            Ok(true) => records
                .json_query(objects.text(), objects.count() - 1, sink)
                .map_err(|wrong| wrong.at(objects.place())),
            Err(error) => Err(error),
        };
        sink.take(objects.place(), query)?;
    }
    records.finish(sink);
    Ok(())
}
