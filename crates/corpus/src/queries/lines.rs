//! Query files with a query on each line.

use toller_ir::Query;

use crate::error::{CorpusError, Wrong};
use crate::queries::sink::QuerySink;
use crate::text::RecordLines;

/// Calls `parse` with each record and its row number from zero, and passes the query to `sink`. If `parse`
/// returns nothing, the line is not a query (a header).
pub(crate) fn for_each_line(
    mut lines: RecordLines,
    sink: &mut QuerySink,
    mut parse: impl FnMut(&str, u64, &QuerySink) -> Result<Option<Query>, Wrong>,
) -> Result<(), CorpusError> {
    loop {
        match lines.advance() {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                sink.take(lines.lines().place(), Err(error))?;
                continue;
            }
        }
        let query = match parse(lines.text(), lines.rows() - 1, sink) {
            Ok(None) => continue,
            Ok(Some(query)) => Ok(query),
            Err(wrong) => Err(wrong.at(lines.lines().place())),
        };
        sink.take(lines.lines().place(), query)?;
    }
}
