//! Detecting a format from the beginning of a file.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use toller_files::InputReader;
use toller_ir::Remedy;

use crate::error::{CorpusError, excerpt};
use crate::text::{Shape, blank};

/// How much of a file detection looks at.
const SNIFF_BYTES: usize = 64 << 10;

/// The most lines of it that are compared.
const SNIFF_LINES: usize = 200;

/// What to do about a run among qrels, or qrels among runs.
pub(crate) const EXCHANGED: &str =
    "give the judgments as qrels and the results as runs: here they may be exchanged";

/// How a file begins, and what it is called.
#[derive(Debug)]
pub(crate) struct Sniff {
    /// The beginning as text, without a byte order mark.
    pub(crate) text: String,
    /// Whether `text` is the whole file.
    whole: bool,
    /// The file's name in lower case, without the extension of its compression.
    name: String,
    pub(crate) file: String,
}

impl Sniff {
    /// Looks at the beginning of what `reader` reads.
    ///
    /// # Errors
    /// For bytes that are text in no format.
    pub(crate) fn new(reader: &mut InputReader) -> Result<Self, CorpusError> {
        let file = reader.input().to_string();
        let head = reader.peek(SNIFF_BYTES);
        check_head(&file, head)?;
        let whole = head.len() < SNIFF_BYTES;
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let text = String::from_utf8_lossy(head).into_owned();
        let name = reader.input().plain_name().unwrap_or_default().to_ascii_lowercase();
        Ok(Self { text, whole, name, file })
    }

    /// Whether the file is in Parquet.
    pub(crate) fn is_parquet(&self) -> bool {
        self.text.starts_with("PAR1") || self.named(&["parquet"])
    }

    /// Whether the file's name ends in one of `extensions`.
    pub(crate) fn named(&self, extensions: &[&str]) -> bool {
        self.name.rsplit_once('.').is_some_and(|(_, found)| extensions.contains(&found))
    }

    /// Whether the file begins as a JSON object or an array of objects does. (A brace or bracket alone may
    /// begin an identifier, and so may a pair of them that does not end the line.)
    pub(crate) fn json(&self) -> Option<Shape> {
        let mut rest = self.text.trim_start().chars();
        let (open, after) = (rest.next()?, rest.as_str().trim_start());
        let ends_the_line = |close| {
            after.strip_prefix(close).is_some_and(|rest| blank(rest.lines().next().unwrap_or_default()))
        };
        match open {
            '{' if after.starts_with('"') || ends_the_line('}') => Some(Shape::Object),
            '[' if after.starts_with('{') || ends_the_line(']') => Some(Shape::Array),
            _ => None,
        }
    }

    /// Whether the file begins as a JSON array of strings does.
    pub(crate) fn lists_strings(&self) -> bool {
        let items = self.text.trim_start().strip_prefix('[');
        items.is_some_and(|items| items.trim_start().starts_with('"'))
    }

    /// Whether the JSON object with which the file begins goes on after its first line, and is sound as far
    /// as the beginning of the file shows.
    pub(crate) fn first_object_has_lines(&self) -> bool {
        let parse = |text: &str| serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>().next();
        let goes_on = |parsed: Option<Result<_, serde_json::Error>>| {
            parsed.is_some_and(|object| object.is_err_and(|error| error.is_eof()))
        };
        let text = self.text.trim_start();
        let first_line = text.split_once('\n').map(|(line, _)| line);
        first_line.is_some_and(|line| goes_on(parse(line)))
            && (matches!(parse(text), Some(Ok(_))) || goes_on(parse(text)))
    }

    /// Whether the JSON object with which the file begins has this field, as far as the beginning of the file
    /// shows.
    pub(crate) fn first_object_has(&self, name: &str) -> bool {
        let mut search = FieldSearch { name, found: false };
        // The object may be cut off after the field.
        let _ = serde_json::Deserializer::from_str(&self.text).deserialize_map(&mut search);
        search.found
    }

    /// Whether the file begins as a JSON object of objects does.
    pub(crate) fn nests_objects(&self) -> bool {
        first_value(&self.text).is_some_and(|value| value.starts_with('{'))
    }

    /// Whether the file is one JSON object of objects of numbers, as far as its beginning shows: so other
    /// programs keep runs and judgments.
    pub(crate) fn nests_numbers(&self) -> bool {
        let is_number = |value: &str| value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let is_empty =
            |inner: &str| inner.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('}'));
        let mut objects = serde_json::Deserializer::from_str(&self.text).into_iter::<IgnoredAny>();
        // An object that is cut off or has an error may be the only one.
        let is_one = objects.next().is_none_or(|first| first.is_err())
            || self.text.get(objects.byte_offset()..).is_none_or(|rest| rest.trim().is_empty());
        is_one
            && first_value(&self.text)
                .is_some_and(|inner| is_empty(inner) || first_value(inner).is_some_and(is_number))
    }

    /// The error that the file has a form that is not read.
    pub(crate) fn unsupported(&self, reason: &'static str, remedy: impl Into<Remedy>) -> CorpusError {
        CorpusError::Unsupported { file: self.file.clone(), reason, remedy: remedy.into() }
    }

    /// Whether the file begins with a tag: an XML declaration, a comment, a wrapper or a record.
    pub(crate) fn begins_with_tag(&self) -> bool {
        let mut bytes = self.text.trim_start().bytes();
        bytes.next() == Some(b'<')
            && bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'?' || byte == b'!')
    }

    /// The first lines that are not blank, without their ends; a last one that may be cut off is left
    /// out unless it is the only one.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.text.lines().take(SNIFF_LINES).collect();
        let cut = !self.whole && !self.text.ends_with('\n') && lines.len() < SNIFF_LINES;
        if cut && lines.len() > 1 {
            lines.pop();
        }
        lines.retain(|line| !line.trim().is_empty());
        lines
    }

    /// The error that the format is one of `candidates`, or none that is known.
    pub(crate) fn unknown<F: fmt::Display + Copy>(
        &self,
        what: &'static str,
        candidates: &[F],
        name: impl Fn(F) -> &'static str,
    ) -> CorpusError {
        let first =
            self.lines().first().map_or_else(|| "an empty file".to_owned(), |line| excerpt(line.as_bytes()));
        CorpusError::UnknownFormat {
            file: self.file.clone(),
            what,
            found: first,
            candidates: candidates.iter().map(|format| name(*format)).collect(),
        }
    }
}

/// The text from the first value of the JSON object with which `text` begins.
fn first_value(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix('{')?;
    let mut keys = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    keys.next()?.ok()?;
    Some(rest.get(keys.byte_offset()..)?.trim_start().strip_prefix(':')?.trim_start())
}

/// Looks for a field of a JSON object.
struct FieldSearch<'a> {
    name: &'a str,
    found: bool,
}

impl<'de> Visitor<'de> for &mut FieldSearch<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(field) = fields.next_key::<String>()? {
            self.found |= field == self.name;
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Refuses a file that is not UTF-8 text, if its beginning shows that. Detection does the same, except for
/// UTF-16 with a byte order mark, which is a bad line.
///
/// # Errors
/// [`CorpusError::Unsupported`] for an archive, UTF-16 and other bytes.
pub fn check_text(reader: &mut InputReader) -> Result<(), CorpusError> {
    let file = reader.input().to_string();
    let head = reader.peek(SNIFF_BYTES);
    let marked = head.strip_prefix(b"\xff\xfe").or_else(|| head.strip_prefix(b"\xfe\xff"));
    check_head(&file, marked.unwrap_or(head))
}

fn check_head(file: &str, head: &[u8]) -> Result<(), CorpusError> {
    match not_text(head) {
        None => Ok(()),
        Some((reason, remedy)) => {
            Err(CorpusError::Unsupported { file: file.to_owned(), reason, remedy: remedy.into() })
        }
    }
}

/// Why bytes are not UTF-8 text, and what to do, if their beginning shows it.
fn not_text(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const TAR: std::ops::Range<usize> = 257..262;
    match head {
        _ if head.get(TAR) == Some(b"ustar") => Some(("a tar archive", "unpack it first (tar -xf)")),
        [1..=255, 0, 1..=255, 0, ..] => {
            Some(("UTF-16 text, not UTF-8", "convert it to UTF-8 (iconv -f UTF-16LE -t UTF-8)"))
        }
        [0, 1..=255, 0, 1..=255, ..] => {
            Some(("UTF-16 text, not UTF-8", "convert it to UTF-8 (iconv -f UTF-16BE -t UTF-8)"))
        }
        _ if head.starts_with(b"\x93NUMPY") => {
            Some(("an array of NumPy, not text", "import it with `toller store import`"))
        }
        _ if ends_in_returns(head) => {
            Some(("lines that end in a carriage return alone", "convert them (tr '\\r' '\\n')"))
        }
        _ => None,
    }
}

/// Whether several lines of columns end as on an old Macintosh, and as some spreadsheets write them. Binary
/// files and those of one record, which begin with a bracket or a tag, may have such bytes.
fn ends_in_returns(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    !matches!(text.first(), Some(b'[' | b'{' | b'<'))
        && memchr::memchr2(b'\n', 0, text).is_none()
        && !text.starts_with(b"PAR1")
        && memchr::memchr_iter(b'\r', text).nth(1).is_some()
}

/// The number of columns that most lines have, so that one bad line does not hide the format; among equally
/// common numbers, the one that comes first.
pub(crate) fn usual_columns(lines: &[&str], count: impl Fn(&str) -> usize) -> usize {
    let mut seen: Vec<(usize, usize)> = Vec::new();
    for columns in lines.iter().map(|line| count(line)) {
        match seen.iter_mut().find(|(known, _)| *known == columns) {
            Some((_, lines)) => *lines += 1,
            None => seen.push((columns, 1)),
        }
    }
    let most = seen.iter().map(|(_, lines)| *lines).max().unwrap_or_default();
    seen.iter().find(|(_, lines)| *lines == most).map_or(0, |(columns, _)| *columns)
}

/// How many columns a line has, separated by tabs.
pub(crate) fn tab_columns(line: &str) -> usize {
    line.split('\t').count()
}
