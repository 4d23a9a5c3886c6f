//! Lines that are records, and what blank lines mean among them.

use toller_files::InputReader;

use crate::error::{BadKind, CorpusError};
use crate::text::{LineReader, blank};

/// The lines of a collection or a query file. Blank lines at the end of a file are passed over; one between records is a
/// bad record, since it is most often the trace of a text with line breaks in it, or of a lost
/// record, and would shift row numbers.
pub(crate) struct RecordLines {
    lines: LineReader,
    /// The last line that was not blank.
    last_record: u64,
}

impl RecordLines {
    pub(crate) fn new(reader: InputReader, max_line_bytes: usize) -> Self {
        Self { lines: LineReader::new(reader, max_line_bytes), last_record: 0 }
    }

    pub(crate) fn lines(&self) -> &LineReader {
        &self.lines
    }

    pub(crate) fn lines_mut(&mut self) -> &mut LineReader {
        &mut self.lines
    }

    /// The number of the last line that was not blank, from one.
    pub(crate) fn last_record(&self) -> u64 {
        self.last_record
    }

    /// Moves to the next record, so that [`LineReader::next`] returns it. Returns false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, CorpusError> {
        let mut blanks = 0;
        loop {
            match self.lines.next() {
                Ok(None) => return Ok(false),
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
                    self.last_record = line;
                    return bad.map_or(Ok(true), Err);
                }
            }
        }
    }
}
