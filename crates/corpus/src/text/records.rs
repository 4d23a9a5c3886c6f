//! Lines as records, and the meaning of blank lines.

use toller_files::InputReader;

use crate::error::{BadKind, CorpusError};
use crate::text::{LineReader, blank};

/// The lines of a collection or a query file. Blank lines at the end of a file are skipped. Between records
/// they are skipped in JSON lines; in columns they are a bad record, since they most often come from a text
/// with line breaks in it or from a lost record, and would shift row numbers.
pub(crate) struct RecordLines {
    lines: LineReader,
    skips_blank: bool,
    /// The blank lines that were skipped.
    skipped: u64,
    rows: u64,
    /// What comes after blank lines that were an error.
    held: Option<Result<bool, CorpusError>>,
}

impl RecordLines {
    /// The lines of a file of columns.
    pub(crate) fn new(reader: InputReader, max_line_bytes: usize) -> Self {
        let lines = LineReader::new(reader, max_line_bytes);
        Self { lines, skips_blank: false, skipped: 0, rows: 0, held: None }
    }

    /// The lines of a file of JSON lines.
    pub(crate) fn json(reader: InputReader, max_line_bytes: usize) -> Self {
        Self { skips_blank: true, ..Self::new(reader, max_line_bytes) }
    }

    pub(crate) fn lines(&self) -> &LineReader {
        &self.lines
    }

    /// For records of several lines: [`RecordLines::advance`] finds their first lines.
    pub(crate) fn lines_mut(&mut self) -> &mut LineReader {
        &mut self.lines
    }

    /// The line of the current record.
    pub(crate) fn text(&self) -> &str {
        self.lines.text()
    }

    /// The number of the current row: that of its line, without the skipped blank lines.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Moves to the next record. Returns false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, CorpusError> {
        let mut blanks = 0;
        loop {
            match self.held.take().unwrap_or_else(|| self.lines.advance()) {
                Ok(false) => return Ok(false),
                Ok(true) if self.skips_blank && self.text().trim().is_empty() => self.skipped += 1,
                Ok(true) if blank(self.text()) => blanks += 1,
                found if blanks > 0 => {
                    self.held = Some(found);
                    let line = self.lines.line() - blanks;
                    let found = if blanks == 1 {
                        "an empty line".to_owned()
                    } else {
                        format!("{blanks} empty lines")
                    };
                    return Err(self.lines.bad_at(line, BadKind::BlankLine, found, "a record on every line"));
                }
                found => {
                    self.rows = self.lines.line() - self.skipped;
                    return found;
                }
            }
        }
    }
}
