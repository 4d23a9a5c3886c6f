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
}

impl RecordLines {
    /// The lines of a file of columns.
    pub(crate) fn new(reader: InputReader, max_line_bytes: usize) -> Self {
        Self { lines: LineReader::new(reader, max_line_bytes), skips_blank: false, skipped: 0, rows: 0 }
    }

    /// The lines of a file of JSON lines.
    pub(crate) fn json(reader: InputReader, max_line_bytes: usize) -> Self {
        Self { skips_blank: true, ..Self::new(reader, max_line_bytes) }
    }

    pub(crate) fn lines(&self) -> &LineReader {
        &self.lines
    }

    pub(crate) fn lines_mut(&mut self) -> &mut LineReader {
        &mut self.lines
    }

    /// The number of the current row: that of its line, without the skipped blank lines.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Moves to the next record, so that [`LineReader::next`] returns it. Returns false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, CorpusError> {
        let mut blanks = 0;
        loop {
            match self.lines.next() {
                Ok(None) => return Ok(false),
                Ok(Some(line)) if self.skips_blank && line.trim().is_empty() => self.skipped += 1,
                Ok(Some(line)) if blank(line) => blanks += 1,
                found => {
                    let bad = found.err();
                    let line = self.lines.line();
                    if bad.is_none() || blanks > 0 {
                        self.lines.repeat();
                    }
                    if blanks > 0 {
                        let found = if blanks == 1 {
                            "an empty line".to_owned()
                        } else {
                            format!("{blanks} empty lines")
                        };
                        return Err(self.lines.bad_at(
                            line - blanks,
                            BadKind::BlankLine,
                            found,
                            "a record on every line",
                        ));
                    }
                    self.rows = line - self.skipped;
                    return bad.map_or(Ok(true), Err);
                }
            }
        }
    }
}
