//! Collections as columns: tab-separated, DPR's, RocketQA's, and CSV.

use toller_files::InputReader;
use toller_ir::{Passage, Position, Setting, remedy};

use crate::ColumnNames;
use crate::collection::columns::Columns;
use crate::collection::source::{PassageSource, RecordLayout, RecordPlace};
use crate::error::{BadKind, CorpusError, Wrong, excerpt};
use crate::names::{MAX_COLUMNS, Names};
use crate::text::{QuotedRow, RecordLines, tabs};

/// Reads unquoted tab-separated lines: `tsv` and `rocketqa`.
pub(crate) struct TsvPassages {
    records: RecordLines,
    columns: Option<Columns>,
    rocketqa: bool,
    names: Names,
    /// The number of the first row, where rows are numbered over several files.
    first_row: u64,
}

impl TsvPassages {
    pub(crate) fn plain(reader: InputReader, max_line_bytes: usize, columns: &ColumnNames) -> Self {
        let records = RecordLines::new(reader, max_line_bytes);
        Self { records, columns: None, rocketqa: false, names: columns.in_passages(), first_row: 0 }
    }

    pub(crate) fn rocketqa(reader: InputReader, max_line_bytes: usize, first_row: u64) -> Self {
        let records = RecordLines::new(reader, max_line_bytes);
        let names = ColumnNames::default().in_passages();
        Self { records, columns: None, rocketqa: true, names, first_row }
    }

    /// The columns, as the first line shows them, and whether that line is a header.
    fn columns_of(&self, line: &str) -> Result<(Columns, bool), CorpusError> {
        let cells: Vec<&str> = line.split('\t').collect();
        Ok(match (self.rocketqa, cells.len()) {
            (true, 4) => (Columns::ROCKETQA_FOUR, false),
            (true, _) => (Columns::ROCKETQA_TWO, false),
            (false, _) => match Columns::of_header(&cells, &self.names) {
                Some(columns) => (columns, true),
                None if self.names.are_given || self.names.begin_header(&cells) => {
                    return Err(self.names.missing(self.records.lines().place().file, "tsv", &cells));
                }
                None => (Columns::PLAIN, false),
            },
        })
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
                    let (columns, is_header) = self.columns_of(line)?;
                    self.columns = Some(columns);
                    if is_header {
                        continue;
                    }
                    columns
                }
            };
            if width != columns.width() {
                let wrong = Wrong::width(width, columns.width(), line, columns.describe('\t'));
                return Err(wrong.at(self.records.lines().place()));
            }
            if columns == Columns::ROCKETQA_FOUR && !matches!(cells, ["-", _, _, "0"]) {
                let found = excerpt(line.as_bytes());
                let wrong = Wrong::new(BadKind::Malformed, found, "-<TAB>title<TAB>text<TAB>0");
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

/// Reads quoted rows: DPR's, and CSV.
pub(crate) struct QuotedPassages {
    records: RecordLines,
    columns: Option<Columns>,
    /// The columns of a file without a header; `None` if there must be one.
    without_header: Option<Columns>,
    names: Names,
    row: QuotedRow,
    /// Where the row begins in the file.
    row_start: u64,
    /// Whether the format is a guess by the header.
    is_guessed: bool,
}

impl QuotedPassages {
    pub(crate) fn dpr(
        reader: InputReader,
        max_line_bytes: usize,
        columns: &ColumnNames,
        is_guessed: bool,
    ) -> Self {
        let without_header = columns.are_usual().then_some(Columns::DPR);
        Self { is_guessed, ..Self::new(reader, max_line_bytes, columns, without_header, '\t') }
    }

    pub(crate) fn csv(reader: InputReader, max_line_bytes: usize, columns: &ColumnNames) -> Self {
        Self::new(reader, max_line_bytes, columns, None, ',')
    }

    fn new(
        reader: InputReader,
        max_line_bytes: usize,
        columns: &ColumnNames,
        without_header: Option<Columns>,
        delimiter: char,
    ) -> Self {
        let records = RecordLines::new(reader, max_line_bytes);
        let (names, row) = (columns.in_passages(), QuotedRow::new(delimiter));
        Self { records, columns: None, without_header, names, row, row_start: 0, is_guessed: false }
    }

    /// Refuses a field in quotes that holds lines with as many columns as the row: more likely, the quote at
    /// its beginning is a part of the text, and these lines are rows.
    fn check_guess(&self, width: usize) -> Result<(), CorpusError> {
        let is_row = |line: &str| line.matches(self.row.delimiter()).count() + 1 >= width;
        let holds_rows = |field: &String| field.lines().skip(1).any(is_row);
        if !self.is_guessed || !self.row.fields().iter().any(holds_rows) {
            return Ok(());
        }
        Err(CorpusError::Unsupported {
            file: self.records.lines().place_of(self.row.line).to_string(),
            reason: "a column that begins with a quote holds whole rows",
            remedy: remedy!(
                "if quotes are a part of the texts, give {}; if not, {}",
                Setting::Format.to("tsv"),
                Setting::Format.to("dpr")
            ),
        })
    }

    fn is_csv(&self) -> bool {
        self.row.delimiter() == ','
    }
}

impl PassageSource for QuotedPassages {
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
                    let header = Columns::of_header(fields, &self.names);
                    let format = if self.is_csv() { "csv" } else { "dpr" };
                    let missing = || self.names.missing(self.records.lines().place().file, format, fields);
                    let columns = header.or(self.without_header).ok_or_else(missing)?;
                    self.columns = Some(columns);
                    if header.is_some() {
                        continue;
                    }
                    columns
                }
            };
            self.check_guess(columns.width())?;
            if fields.len() != columns.width() {
                let line = fields.first().map_or("", String::as_str);
                let wrong =
                    Wrong::width(fields.len(), columns.width(), line, columns.describe(self.row.delimiter()));
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
        // A layout says nothing of commas.
        if self.is_csv() {
            return None;
        }
        let bytes = self.row_start..self.records.lines().span().end;
        Some(RecordPlace { layout: RecordLayout::Dpr(self.columns?), bytes })
    }
}
