//! Where an error is, for programs that read errors.

use std::fmt;
use std::path::Path;

/// The place of an error: a file or directory, and where in the file, if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPlace {
    /// The path as it was given, or "standard input".
    pub file: String,
    /// Where in the file.
    pub position: Option<Position>,
}

/// A position in an input, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A line of a text file; of a record of several lines, the first.
    Line(u64),
    /// An element of a JSON array, or an entry of a JSON object.
    Record(u64),
    /// A row of a Parquet file.
    Row(u64),
}

impl ErrorPlace {
    /// A file or directory as a whole.
    #[must_use]
    pub fn of_file(path: &Path) -> Self {
        Self { file: path.display().to_string(), position: None }
    }
}

impl Position {
    /// The number of the line, record or row.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::Line(number) | Self::Record(number) | Self::Row(number) => number,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Record(number) => write!(f, "record {number}"),
            Self::Row(number) => write!(f, "row {number}"),
        }
    }
}
