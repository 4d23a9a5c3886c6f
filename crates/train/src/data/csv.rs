//! Examples in CSV: a row is a record whose fields are the columns that the header names.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use toller_corpus::{CorpusError, QuotedRows, ReadOptions};
use toller_files::{FileError, InputReader};
use toller_ir::{Position, counted};

use super::column::Column;
use crate::TrainError;

/// The bytes that show the first line.
const SHOWING: usize = 64 << 10;

/// Whether a file is CSV by its name, and its content is neither JSON nor separated by tabs.
pub(super) fn is_csv(path: &Path, reader: &mut InputReader) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if !name.ends_with(".csv") && !name.contains(".csv.") {
        return false;
    }
    let shown = String::from_utf8_lossy(reader.peek(SHOWING));
    let shown = shown.trim_start_matches('\u{feff}').trim_start();
    !shown.starts_with(['{', '[']) && !shown.lines().next().unwrap_or_default().contains('\t')
}

/// Writes each row as a line of JSON, in the line where the row begins, so that errors name it.
pub(super) fn write_lines(path: &Path, reader: InputReader, out: &mut impl Write) -> Result<(), TrainError> {
    let bad = |line: u64, problem: String| TrainError::Record {
        path: path.to_owned(),
        position: Position::Line(line),
        problem,
    };
    let mut rows = QuotedRows::new(reader, ReadOptions::<()>::MAX_LINE_BYTES, ',');
    let (mut header, mut written) = (None, 0);
    // Such rows are not skipped, whatever the options, so the hint is a record's.
    let bad_row = |error: CorpusError| match error {
        CorpusError::Bad(record) => TrainError::Record {
            path: path.to_owned(),
            position: record.place.position,
            problem: format!("{}: found {}, expected {}", record.kind, record.found, record.expected),
        },
        other => other.into(),
    };
    while rows.advance().map_err(bad_row)? {
        let (fields, line) = (rows.fields(), rows.line());
        let Some(names) = &header else {
            let mut known = fields.iter().filter_map(|name| Column::named(name));
            if !known.any(|column| matches!(column, Column::Query | Column::Text)) {
                return Err(bad(line, "expected a header, for example query,positive,negative".to_owned()));
            }
            header = Some(fields.iter().map(|name| Value::from(name.trim())).collect::<Vec<_>>());
            continue;
        };
        if fields.len() != names.len() {
            let (columns, named) = (counted(fields.len(), "column"), names.len());
            return Err(bad(line, format!("{columns}, where the header names {named}")));
        }
        let columns =
            names.iter().zip(fields).map(|(name, field)| format!("{name}:{}", Value::from(&**field)));
        let columns = columns.collect::<Vec<_>>().join(",");
        let blank = usize::try_from(line - 1 - written).unwrap_or_default();
        writeln!(out, "{}{{{columns}}}", "\n".repeat(blank))
            .map_err(FileError::on("make a temporary copy of", path))?;
        written = line;
    }
    Ok(())
}
