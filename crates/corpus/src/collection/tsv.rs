//! Collections as tab-separated columns: plain, DPR's and RocketQA's.

use toller_files::InputReader;
use toller_ir::Passage;

use crate::collection::columns::{Columns, MAX_COLUMNS};
use crate::collection::source::{PassageSource, RecordLayout, RecordPlace};
use crate::error::{CorpusError, Position, Wrong};
use crate::text::{QuotedRow, RecordLines, tabs};

/// Reads unquoted tab-separated lines: `tsv` and `rocketqa`.
pub(crate) struct TsvPassages {
    records: RecordLines,
    columns: Option<Columns>,
    rocketqa: bool,
    /// The number of the first row, where rows are numbered over several files.
    first_row: u64,
}

impl TsvPassages {
    pub(crate) fn plain(reader: InputReader, max_line_bytes: usize) -> Self {
        let records = RecordLines::new(reader, max_line_bytes);
        Self { records, columns: None, rocketqa: false, first_row: 0 }
    }

    pub(crate) fn rocketqa(reader: InputReader, max_line_bytes: usize, first_row: u64) -> Self {
        let records = RecordLines::new(reader, max_line_bytes);
        Self { records, columns: None, rocketqa: true, first_row }
    }

    /// The columns, as the first line shows them, and whether that line is a header.
    fn columns_of(&self, cells: &[&str], width: usize) -> (Columns, bool) {
        match (self.rocketqa, width) {
            (true, 4) => (Columns::ROCKETQA_FOUR, false),
            (true, _) => (Columns::ROCKETQA_TWO, false),
            (false, _) => match Columns::of_header(cells).filter(|_| width == cells.len()) {
                Some(columns) => (columns, true),
                None => (Columns::PLAIN, false),
            },
        }
    }
}

impl PassageSource for TsvPassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        loop {
            if !self.records.advance()? {
                return Ok(None);
            }
            let line = self.records.text();
            let mut cells = [""; MAX_COLUMNS];
            let width = tabs(line, &mut cells);
            let cells = cells.get(..width).unwrap_or(&cells);
            let columns = match self.columns {
                Some(columns) => columns,
                None => {
                    let (columns, is_header) = self.columns_of(cells, width);
                    self.columns = Some(columns);
                    if is_header {
                        continue;
                    }
                    columns
                }
            };
            if width != columns.width() {
                let wrong = Wrong::width(width, columns.width(), line, columns.describe());
                return Err(wrong.at(self.records.lines().place()));
            }
            // Only rows without identifiers use it, and those files have no header.
            let row = self.first_row + self.records.lines().line() - 1;
            return Ok(Some(columns.passage(cells, row)));
        }
    }

    fn position(&self) -> Position {
        Position::Line(self.records.lines().line())
    }

    fn rows(&self) -> u64 {
        self.records.rows()
    }

    fn record(&self) -> Option<RecordPlace> {
        // A number of a row is not in the row.
        let columns = self.columns.filter(|columns| columns.has_id())?;
        Some(RecordPlace { layout: RecordLayout::Tsv(columns), bytes: self.records.lines().span() })
    }
}

/// Reads DPR's quoted rows.
pub(crate) struct DprPassages {
    records: RecordLines,
    columns: Option<Columns>,
    row: QuotedRow,
    /// Where the row begins in the file.
    row_start: u64,
}

impl DprPassages {
    pub(crate) fn new(reader: InputReader, max_line_bytes: usize) -> Self {
        let records = RecordLines::new(reader, max_line_bytes);
        Self { records, columns: None, row: QuotedRow::default(), row_start: 0 }
    }
}

impl PassageSource for DprPassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        loop {
            if !self.records.advance()? {
                return Ok(None);
            }
            self.row_start = self.records.lines().span().start;
            self.row.read(self.records.lines_mut())?;
            let fields = self.row.fields();
            let columns = match self.columns {
                Some(columns) => columns,
                None => {
                    let cells: Vec<&str> = fields.iter().map(String::as_str).collect();
                    let header = Columns::of_header(&cells);
                    self.columns = Some(header.unwrap_or(Columns::DPR));
                    if header.is_some() {
                        continue;
                    }
                    Columns::DPR
                }
            };
            if fields.len() != columns.width() {
                let line = fields.first().map_or("", String::as_str);
                let wrong = Wrong::width(fields.len(), columns.width(), line, columns.describe());
                return Err(wrong.at(self.records.lines().place_of(self.row.line)));
            }
            return Ok(Some(columns.passage(fields, 0)));
        }
    }

    fn position(&self) -> Position {
        Position::Line(self.row.line)
    }

    fn rows(&self) -> u64 {
        self.records.rows()
    }

    fn record(&self) -> Option<RecordPlace> {
        let bytes = self.row_start..self.records.lines().span().end;
        Some(RecordPlace { layout: RecordLayout::Dpr(self.columns?), bytes })
    }
}
