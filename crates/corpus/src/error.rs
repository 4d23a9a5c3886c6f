//! What can be wrong with input, where it is, and what to do about it.

use std::fmt;

use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Position, Remedy, Setting, counted, named, remedy};

/// A place in an input: the file and the line, record or row, counted from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's path as it was given, or "standard input".
    pub file: String,
    /// Where in it.
    pub position: Position,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.file, self.position)
    }
}

named! {
    /// The kinds of bad records. With [`skip_bad_lines`](crate::ReadOptions::skip_bad_lines) they are counted
    /// by kind.
    #[derive(PartialOrd, Ord)]
    pub enum BadKind: "a kind of bad records" {
        /// An empty line between the records of a collection.
        BlankLine = "blank line",
        /// Bytes that are not UTF-8.
        InvalidUtf8 = "invalid UTF-8",
        /// A line or record over [`max_line_bytes`](crate::ReadOptions::max_line_bytes).
        TooLong = "line too long",
        /// A column that the format requires is not there.
        MissingColumn = "missing column",
        /// A header that does not say what a column holds. It is never skipped.
        UnclearHeader = "unclear header",
        /// A record has none of a field's names.
        MissingField = "missing field",
        /// More columns than the format has.
        ExtraColumn = "extra column",
        /// Columns between spaces, where an identifier seems to hold spaces, too.
        SpacedId = "spaces in an id",
        /// A value of a table that is missing.
        Null = "null",
        /// Not the syntax of the format, or a value of the wrong type.
        Malformed = "malformed record",
        /// NaN or Infinity, which Python's json module writes and JSON does not have.
        NotJson = "not JSON",
        /// An escape of half a character beyond the first 65,536.
        LoneSurrogate = "lone surrogate",
        /// An identifier that is empty or blank.
        EmptyId = "empty id",
        /// An identifier that no run can hold: with a tab, a line end, or white space at an end;
        /// of a query, also with a `#` at its beginning.
        UnwritableId = "unwritable id",
        /// A query whose text is empty or blank.
        EmptyQuery = "query without text",
        /// A score, rank or grade that is not a finite number of its kind.
        BadNumber = "bad number",
        /// A weight of a term that is not an integer from 1 on.
        Weight = "bad weight",
        /// An identifier that an earlier record has.
        DuplicateId = "duplicate id",
        /// A document judged twice for one query.
        DuplicateJudgment = "document judged twice",
        /// A document retrieved twice for one query.
        DuplicateHit = "document retrieved twice",
    }
}

impl BadKind {
    fn remedy(self) -> Remedy {
        let skip = Setting::SkipBadLines;
        match self {
            Self::InvalidUtf8 => remedy!(
                "convert the file to UTF-8 (iconv -f ENCODING -t UTF-8), or pass {} to count and skip \
                 such lines",
                skip
            ),
            Self::TooLong => remedy!(
                "a line this long is most often a file without line breaks; pass {} to count and skip it",
                skip
            ),
            Self::MissingField => remedy!(
                "if the fields have other names, give them with {} and {}, or add a field of identifiers if there \
                 is none; if the file has another format, name it with {}; pass {} to count and skip such records",
                Setting::IdColumn,
                Setting::TextColumn,
                Setting::Format,
                skip
            ),
            Self::UnclearHeader => "rename the column in the header".into(),
            Self::MissingColumn | Self::ExtraColumn | Self::Malformed => remedy!(
                "if the file has another format, name it with {}; pass {} to count and skip such lines",
                Setting::Format,
                skip
            ),
            Self::SpacedId => remedy!(
                "identifiers that hold spaces need tabs between the columns; pass {} to count and skip such \
                 lines",
                skip
            ),
            Self::NotJson => {
                remedy!("write null where a value is missing, or pass {} to count and skip such lines", skip)
            }
            Self::LoneSurrogate => remedy!(
                "write the character in UTF-8 or as two escapes, or pass {} to count and skip such lines",
                skip
            ),
            Self::Null => remedy!("fill in the value, or pass {} to count and skip such rows", skip),
            Self::Weight => remedy!(
                "quantize weights when they are made (times 100, rounded, for example), and leave out those of 0; pass {} \
                 to count and skip such records",
                skip
            ),
            Self::DuplicateId => remedy!(
                "identifiers must be unique over all the files; pass {} to keep the first of each",
                skip
            ),
            Self::DuplicateJudgment => {
                remedy!("remove one of the two; pass {} to keep the first of each", skip)
            }
            Self::DuplicateHit => {
                remedy!("remove one of the two; pass {} to use the first of each", Setting::Keep.to("first"))
            }
            Self::BlankLine | Self::EmptyId | Self::UnwritableId | Self::EmptyQuery | Self::BadNumber => {
                remedy!("correct the line, or pass {} to count and skip such lines", skip)
            }
        }
    }
}

/// One bad record: where, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// Where it is.
    pub place: Place,
    /// What is wrong.
    pub kind: BadKind,
    /// What was found, shortened.
    pub found: String,
    /// What the format asks for.
    pub expected: String,
}

impl BadRecord {
    /// A value of a table that is missing; `what` is the value's meaning.
    #[must_use]
    pub fn null(place: Place, what: &str) -> Self {
        Self {
            place,
            kind: BadKind::Null,
            found: format!("null as the {what}"),
            expected: "a value".to_owned(),
        }
    }
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, kind, found, expected } = self;
        write!(f, "{place}: {kind}: found {found}, expected {expected}")
    }
}

/// What is wrong with a record, before its place is known.
#[derive(Debug)]
pub(crate) struct Wrong {
    kind: BadKind,
    found: String,
    expected: String,
}

impl Wrong {
    pub(crate) fn new(kind: BadKind, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { kind, found: found.into(), expected: expected.into() }
    }

    /// A line with `found` columns where there should be `wanted`.
    pub(crate) fn width(found: usize, wanted: usize, line: &str, expected: impl Into<String>) -> Self {
        let kind = if found < wanted { BadKind::MissingColumn } else { BadKind::ExtraColumn };
        let found = format!("{} in {}", counted(found, "column"), excerpt(line.as_bytes()));
        Self::new(kind, found, expected)
    }

    pub(crate) fn at(self, place: Place) -> CorpusError {
        let Self { kind, found, expected } = self;
        CorpusError::Bad(Box::new(BadRecord { place, kind, found, expected }))
    }
}

/// Anything that stops the reading of a collection, queries, qrels or a run.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file cannot be opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// Reading cannot continue: an I/O error, or compressed data that are truncated or corrupt.
    #[error("{source} (after {last_good})")]
    Read {
        /// The error, with the file's name.
        source: FileError,
        /// The last position that was read whole.
        last_good: Position,
    },
    /// A bad record. Only these can be skipped.
    #[error("{0}")]
    Bad(Box<BadRecord>),
    /// A file that breaks its format so that the records after the error cannot be found.
    #[error("{file}: not readable as {format}: {message}")]
    Broken {
        /// The file.
        file: String,
        /// The format's name.
        format: &'static str,
        /// What is wrong.
        message: String,
        /// Where, if it is known.
        position: Option<Position>,
    },
    /// No records at all.
    #[error("{files}: no {what} found{after}")]
    Empty {
        /// The files that were read.
        files: String,
        /// What they should hold: "passages", "queries".
        what: &'static str,
        /// How many bad lines were skipped, if any.
        after: String,
    },
    /// No titles or no texts by the name that was given for them.
    #[error("{files}: no {} by the name {name:?}{found}", what_is_named(*setting))]
    NoSuchName {
        /// The files that were read.
        files: String,
        /// What gave the name.
        setting: Setting,
        /// The name.
        name: String,
        /// What there is instead, if anything says so.
        found: String,
    },
    /// The format cannot be detected from the content and the name.
    #[error("{file}: cannot tell its format as {what}: found {found}")]
    UnknownFormat {
        /// The file.
        file: String,
        /// What it should hold: "a collection", "queries", "qrels", "a run".
        what: &'static str,
        /// How it begins.
        found: String,
        /// The formats that it could be: the names that `--format` takes. None for columns that no format
        /// has without a header.
        candidates: Vec<&'static str>,
    },
    /// An input that cannot be read in this way, such as Parquet from standard input.
    #[error("{file}: {reason}")]
    Unsupported {
        /// The file.
        file: String,
        /// Why not.
        reason: &'static str,
        /// What to do instead.
        remedy: Remedy,
    },
}

impl Explain for CorpusError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File(error) | Self::Read { source: error, .. } => error.remedy(),
            Self::Bad(record) => Some(record.kind.remedy()),
            Self::Broken { format: "csv" | "dpr" | "parquet" | "tsv", .. } => Some(remedy!(
                "name the columns with {} and {}, add a column of identifiers if there is none, or name another \
                 format with {}",
                Setting::IdColumn,
                Setting::TextColumn,
                Setting::Format
            )),
            Self::Broken { .. } => {
                Some(remedy!("if the file has another format, name it with {}", Setting::Format))
            }
            Self::UnknownFormat { candidates, .. } if candidates.is_empty() => Some(remedy!(
                "put a line before the rows that names the columns, one of them id and one text, or other \
                 names with {} and {}",
                Setting::IdColumn,
                Setting::TextColumn
            )),
            Self::Empty { what, .. } => {
                Some(format!("check that this is the file that holds the {what}").into())
            }
            Self::NoSuchName { setting, .. } => Some(remedy!("correct {}, or leave it out", *setting)),
            Self::UnknownFormat { what: "queries", candidates, .. }
                if candidates[..] == ["rocketqa", "tsv"] =>
            {
                Some(remedy!(
                    "{} if each line is one query, numbered from 0; {} if each is id, tab, text",
                    Setting::Format.to("rocketqa"),
                    Setting::Format.to("tsv")
                ))
            }
            Self::UnknownFormat { what, candidates, .. } => {
                let names = format!(" ({})", candidates.join(", "));
                Some(match *what {
                    "a collection" | "queries" => remedy!(
                        "name the format with {}{}; if the first line has the names of the columns, give them with \
                         {} and {}",
                        Setting::Format,
                        names,
                        Setting::IdColumn,
                        Setting::TextColumn
                    ),
                    _ => remedy!("name the format with {}{}", Setting::Format, names),
                })
            }
            Self::Unsupported { remedy, .. } => Some(remedy.clone()),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        let in_file = |file: &str, position| Some(ErrorPlace { file: file.to_owned(), position });
        match self {
            Self::File(error) | Self::Read { source: error, .. } => error.place(),
            Self::Bad(record) => in_file(&record.place.file, Some(record.place.position)),
            Self::Broken { file, position, .. } => in_file(file, *position),
            Self::Empty { files: file, .. }
            | Self::NoSuchName { files: file, .. }
            | Self::UnknownFormat { file, .. }
            | Self::Unsupported { file, .. } => in_file(file, None),
        }
    }
}

fn what_is_named(setting: Setting) -> &'static str {
    if setting == Setting::TitleColumn { "titles" } else { "texts" }
}

/// The most characters of a bad line that an error shows.
const EXCERPT_CHARS: usize = 60;

/// A quoted excerpt of `bytes`: shortened, on one line, with control characters escaped.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    format!("\"{}\"", shortened(bytes))
}

/// The names of fields or columns, for a message: the first of them, each shortened.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 20;
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(SHOWN).map(|name| shortened(name.as_bytes())).collect();
    let others = names.count();
    if others > 0 {
        shown.push(format!("and {others} more"));
    }
    shown.join(", ")
}

fn shortened(bytes: &[u8]) -> String {
    // Four bytes a character at most, and one to see that there is more.
    let head = bytes.get(..EXCERPT_CHARS * 4 + 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let mut shown: String = text.chars().take(EXCERPT_CHARS).flat_map(char::escape_debug).collect();
    if head.len() < bytes.len() || text.chars().nth(EXCERPT_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{excerpt, listed};

    #[test]
    fn a_list_of_names_is_short() {
        assert_eq!(listed(["a", "b"]), "a, b");
        assert_eq!(listed(["x".repeat(61).as_str()]), "x".repeat(60) + "…");
        let names = vec!["c"; 23];
        assert_eq!(listed(names), "c, ".repeat(20) + "and 3 more");
    }

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt(b"a\tb\x00"), r#""a\tb\0""#);
        assert_eq!(excerpt("维".repeat(60).as_bytes()), format!("\"{}\"", "维".repeat(60)));
        assert_eq!(excerpt("维".repeat(61).as_bytes()), format!("\"{}…\"", "维".repeat(60)));
        assert_eq!(excerpt(b"\xff\xfe"), "\"\u{fffd}\u{fffd}\"");
    }
}
