//! Rows with quoted fields, one after another.

use toller_files::InputReader;

use crate::error::{CorpusError, Place};
use crate::text::{QuotedRow, RecordLines};

/// The rows of a file with quoted fields, as Python's csv module writes them. A row may span lines.
pub struct QuotedRows {
    lines: RecordLines,
    row: QuotedRow,
}

impl QuotedRows {
    /// The rows of a file whose fields are separated by `delimiter`, of at most `max_bytes` bytes each.
    #[must_use]
    pub fn new(reader: InputReader, max_bytes: usize, delimiter: char) -> Self {
        Self { lines: RecordLines::new(reader, max_bytes), row: QuotedRow::new(delimiter) }
    }

    /// Moves to the next row. Returns false at the end.
    ///
    /// # Errors
    /// [`CorpusError::Bad`] for a blank line, a row that is too long, a quoted field without end, or text
    /// that is not UTF-8, and when the file cannot be read.
    pub fn advance(&mut self) -> Result<bool, CorpusError> {
        Ok(self.lines.advance()? && self.row.read(self.lines.lines_mut()).map(|()| true)?)
    }

    /// The fields of the row.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        self.row.fields()
    }

    /// The line on which the row begins.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.row.line
    }

    /// Where the row begins.
    pub(crate) fn place(&self) -> Place {
        self.lines.lines().place_of(self.row.line)
    }

    /// Where reading is.
    pub(crate) fn place_of_reading(&self) -> Place {
        self.lines.lines().place()
    }
}
