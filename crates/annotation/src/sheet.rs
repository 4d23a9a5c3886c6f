//! Sheets that people fill in: CSV, as spreadsheets save it.

use std::io::Read;

/// A sheet: columns with names, separated by commas, or by semicolons or tabs, as spreadsheets of other
/// languages write them.
#[derive(Debug)]
pub struct Sheet {
    text: String,
    headers: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
}

/// What is wrong with a sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetProblem {
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
}

/// A row of a sheet.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    text: &'a str,
    cells: &'a csv::StringRecord,
}

impl Sheet {
    /// Reads a sheet.
    ///
    /// # Errors
    /// A text that is not UTF-8, and rows of another number of cells than the header has.
    pub fn read(mut from: impl Read) -> Result<Self, SheetProblem> {
        let wrong = |problem: String| SheetProblem { line: None, problem };
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| wrong("the text is not UTF-8; save it as CSV UTF-8".to_owned()))?;
        let text = text.trim_start_matches('\u{feff}').to_owned();
        let csv_error = |error: &csv::Error| SheetProblem {
            line: error.position().map(|position| line_at(&text, position)),
            problem: error.to_string(),
        };
        let head = text.lines().next().unwrap_or_default();
        let mut reader = csv::ReaderBuilder::new().delimiter(separator(head)).from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| csv_error(&error))?.clone();
        let rows = reader.records().collect::<Result<_, _>>().map_err(|error| csv_error(&error))?;
        Ok(Self { text, headers, rows })
    }

    /// The place of a column, if there is one of this name.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        self.headers.iter().position(|header| header.trim() == name)
    }

    /// The place of a column that must be there.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn column(&self, name: &str) -> Result<usize, SheetProblem> {
        let missing = || SheetProblem { line: None, problem: format!("there is no column {name:?}") };
        self.place(name).ok_or_else(missing)
    }

    /// The rows after the header.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { text: &self.text, cells })
    }
}

impl<'a> Row<'a> {
    /// The cell of a column, without blanks around it.
    #[must_use]
    pub fn cell(self, column: usize) -> &'a str {
        self.cells.get(column).unwrap_or_default().trim()
    }

    /// The row's line, from 1. It takes the time of reading all lines before.
    #[must_use]
    pub fn line(self) -> usize {
        self.cells.position().map_or(0, |position| line_at(self.text, position))
    }
}

/// The line of a place. The reader counts one line too few if lines end in "\r\n".
fn line_at(text: &str, position: &csv::Position) -> usize {
    let before = text.bytes().take(position.byte() as usize + 1);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// What separates the columns of a sheet, by its header.
fn separator(head: &str) -> u8 {
    let count = |separator: &u8| head.bytes().filter(|byte| byte == separator).count();
    // Of equal counts, the last one.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}
