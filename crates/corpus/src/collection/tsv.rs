//! Collections as tab-separated columns: plain, DPR's and RocketQA's.

use serde::{Deserialize, Serialize};
use toller_files::InputReader;
use toller_ir::Passage;

use crate::collection::reader::PassageSource;
use crate::collection::record::{RecordLayout, RecordPlace};
use crate::error::{CorpusError, Position, Wrong, counted};
use crate::text::{QuotedRow, RecordLines, header_index, parse_quoted, tabs};

/// The names of columns in headers.
pub(crate) struct Header {
    pub(crate) id: &'static [&'static str],
    pub(crate) title: &'static [&'static str],
    pub(crate) text: &'static [&'static str],
}

/// T2Ranking has `pid text`, DPR `id text title`.
pub(crate) const HEADER: Header = Header {
    id: &["id", "_id", "docid", "doc_id", "docno", "pid", "passage_id"],
    title: &["title"],
    text: &["text", "contents", "document_text", "passage", "paragraph"],
};

/// The most columns that a header may name.
const MAX_COLUMNS: usize = 16;

/// The value of a column that RocketQA leaves empty.
const NOTHING: &str = "-";

/// Which column is what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// `None` where rows are numbered.
    id: Option<usize>,
    title: Option<usize>,
    text: usize,
    width: usize,
}

impl Columns {
    const PLAIN: Self = Self { id: Some(0), title: None, text: 1, width: 2 };
    const DPR: Self = Self { id: Some(0), title: Some(2), text: 1, width: 3 };
    const ROCKETQA_TWO: Self = Self { id: None, title: Some(0), text: 1, width: 2 };
    const ROCKETQA_FOUR: Self = Self { id: None, title: Some(1), text: 2, width: 4 };

    /// The columns that a header names, if it is one.
    fn of_header(cells: &[&str]) -> Option<Self> {
        let (id, text) = (header_index(cells, HEADER.id)?, header_index(cells, HEADER.text)?);
        let title = header_index(cells, HEADER.title);
        (cells.len() <= MAX_COLUMNS).then_some(Self { id: Some(id), title, text, width: cells.len() })
    }

    fn describe(&self) -> String {
        let name = |index: usize| match index {
            _ if self.id == Some(index) => "id",
            _ if self.title == Some(index) => "title",
            _ if self.text == index => "text",
            _ => "...",
        };
        let names: Vec<_> = (0..self.width).map(name).collect();
        format!("{} ({})", counted(self.width, "tab-separated column"), names.join(", "))
    }

    /// The passage of an unquoted line, where it has these columns, one of them an identifier.
    pub(crate) fn passage_of_line(&self, line: &str) -> Option<Passage> {
        let mut cells = [""; MAX_COLUMNS];
        let width = tabs(line, &mut cells);
        (self.id.is_some() && width == self.width).then(|| self.passage(&cells, 0))
    }

    /// The same of a row with quoted fields, which may span lines.
    pub(crate) fn passage_of_quoted(&self, row: &str) -> Option<Passage> {
        let cells = parse_quoted(row)?;
        (self.id.is_some() && cells.len() == self.width).then(|| self.passage(&cells, 0))
    }

    /// The passage of a row with these columns. `row` numbers the rows from zero.
    fn passage(&self, cells: &[impl AsRef<str>], row: u64) -> Passage {
        let cell = |index: usize| cells.get(index).map_or("", AsRef::as_ref);
        let id = self.id.map_or_else(|| row.to_string(), |id| cell(id).to_owned());
        let title = self.title.map(cell);
        let absent = |title: &str| title.is_empty() || self.id.is_none() && title == NOTHING;
        Passage {
            id,
            title: title.filter(|title| !absent(title)).map(str::to_owned),
            text: cell(self.text).to_owned(),
        }
    }
}

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

    /// The columns, told by the first line; and whether that line is a header.
    fn columns_of(&self, cells: &[&str], width: usize) -> (Columns, bool) {
        match (self.rocketqa, width) {
            (true, 4) => (Columns::ROCKETQA_FOUR, false),
            (true, _) => (Columns::ROCKETQA_TWO, false),
            (false, _) => match Columns::of_header(cells) {
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
            let number = self.records.lines().line();
            let known = self.columns;
            let Some(line) = self.records.lines_mut().next()? else { return Ok(None) };
            let mut cells = [""; MAX_COLUMNS];
            let width = tabs(line, &mut cells);
            let row_cells = cells.get(..width).unwrap_or(&cells);
            let columns = match known {
                Some(columns) => columns,
                None => {
                    // The cells borrow the line, which borrows the reader: look at a copy, once a file.
                    let line = line.to_owned();
                    let width = tabs(&line, &mut [""; MAX_COLUMNS]);
                    let cells: Vec<&str> = line.split('\t').collect();
                    let (columns, header) = self.columns_of(&cells, width);
                    self.columns = Some(columns);
                    if !header {
                        self.records.lines_mut().repeat();
                    }
                    continue;
                }
            };
            if width != columns.width {
                let wrong = Wrong::width(width, columns.width, line, columns.describe());
                return Err(wrong.at(self.records.lines().place()));
            }
            // Only rows without identifiers use it, and those files have no header.
            let row = self.first_row + number - 1;
            return Ok(Some(columns.passage(row_cells, row)));
        }
    }

    fn position(&self) -> Position {
        Position::Line(self.records.lines().line())
    }

    fn rows(&self) -> u64 {
        self.records.last_record()
    }

    fn record(&self) -> Option<RecordPlace> {
        // A number of a row is not in the row.
        let columns = self.columns.filter(|columns| columns.id.is_some())?;
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
            self.records.lines_mut().repeat();
            if !self.row.read(self.records.lines_mut())? {
                return Ok(None);
            }
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
            if fields.len() != columns.width {
                let line = fields.first().map_or("", String::as_str);
                let wrong = Wrong::width(fields.len(), columns.width, line, columns.describe());
                return Err(wrong.at(self.records.lines().place_of(self.row.line)));
            }
            return Ok(Some(columns.passage(fields, 0)));
        }
    }

    fn position(&self) -> Position {
        Position::Line(self.row.line)
    }

    fn rows(&self) -> u64 {
        self.records.last_record()
    }

    fn record(&self) -> Option<RecordPlace> {
        let bytes = self.row_start..self.records.lines().span().end;
        Some(RecordPlace { layout: RecordLayout::Dpr(self.columns?), bytes })
    }
}
