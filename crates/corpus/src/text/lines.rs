//! Lines of a file, counted, bounded and checked.

use std::io::{self, BufRead};
use std::ops::Range;

use memchr::memchr;
use toller_files::{FileError, InputReader};

use crate::error::{BadKind, CorpusError, Place, Position, Wrong, excerpt};

/// Reads a file line by line without copying: a line is a slice of the reader's buffer wherever it does
/// not cross the buffer's end.
///
/// Line ends (`\n`, `\r\n`) and a byte order mark at the start of the file are removed. A line that is not
/// UTF-8 or is too long is a bad record, and the next call continues after it.
#[derive(Debug)]
pub(crate) struct LineReader {
    reader: InputReader,
    /// The name of the input, for errors.
    file: String,
    /// A line that crossed the end of the reader's buffer.
    carry: Vec<u8>,
    current: Span,
    /// Bytes of the reader's buffer that `current` still needs.
    pending: usize,
    /// Set when the rest of an overlong line must still be skipped.
    discard: bool,
    /// Set when the current line is to be returned again.
    repeat: bool,
    line: u64,
    /// Bytes of the file before the reader's buffer.
    consumed: u64,
    /// Bytes of the file before the current line.
    start: u64,
    max_line_bytes: usize,
}

/// Where the current line is.
#[derive(Clone, Debug)]
enum Span {
    Buffer(Range<usize>),
    Carry(Range<usize>),
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The capacity that the carry keeps between long lines.
const CARRY_BYTES: usize = 1 << 20;

impl LineReader {
    pub(crate) fn new(reader: InputReader, max_line_bytes: usize) -> Self {
        let file = reader.input().to_string();
        Self {
            reader,
            file,
            carry: Vec::new(),
            current: Span::Carry(0..0),
            pending: 0,
            discard: false,
            repeat: false,
            line: 0,
            consumed: 0,
            start: 0,
            max_line_bytes,
        }
    }

    /// The next line, or `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, CorpusError> {
        if self.repeat {
            self.repeat = false;
        } else if !self.advance()? {
            return Ok(None);
        }
        let line = slice(&mut self.reader, &self.carry, &self.current);
        match std::str::from_utf8(line) {
            Ok(line) => Ok(Some(line)),
            Err(error) => {
                let place = Place { file: self.file.clone(), position: Position::Line(self.line) };
                Err(invalid_utf8(place, line, error.valid_up_to()))
            }
        }
    }

    /// Lets the next call return the current line again.
    pub(crate) fn repeat(&mut self) {
        self.repeat = true;
    }

    /// The number of the current line, from one.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The byte range of the current line in the (decompressed) file, without its end and a byte order mark.
    pub(crate) fn span(&self) -> Range<u64> {
        let (Span::Buffer(range) | Span::Carry(range)) = &self.current;
        self.start + range.start as u64..self.start + range.end as u64
    }

    /// The longest line that is accepted, in bytes.
    pub(crate) fn max_line_bytes(&self) -> usize {
        self.max_line_bytes
    }

    /// The place of the current line.
    pub(crate) fn place(&self) -> Place {
        self.place_of(self.line)
    }

    /// The place of another line.
    pub(crate) fn place_of(&self, line: u64) -> Place {
        Place { file: self.file.clone(), position: Position::Line(line) }
    }

    /// A bad record at the current line.
    pub(crate) fn bad(
        &self,
        kind: BadKind,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> CorpusError {
        self.bad_at(self.line, kind, found, expected)
    }

    /// A bad record at another line.
    pub(crate) fn bad_at(
        &self,
        line: u64,
        kind: BadKind,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> CorpusError {
        Wrong::new(kind, found, expected).at(self.place_of(line))
    }

    /// Moves to the next line. Returns false at the end of the file.
    fn advance(&mut self) -> Result<bool, CorpusError> {
        let pending = std::mem::take(&mut self.pending);
        self.consume(pending);
        if self.discard {
            self.pass_over_line()?;
            self.discard = false;
        }
        self.start = self.consumed;
        self.carry.clear();
        self.carry.shrink_to(CARRY_BYTES);
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.read_error(error)),
            };
            if available.is_empty() {
                if self.carry.is_empty() {
                    return Ok(false);
                }
                self.current = Span::Carry(0..self.carry.len());
                break;
            }
            match memchr(b'\n', available) {
                Some(end) if self.carry.is_empty() => {
                    self.pending = end + 1;
                    self.current = Span::Buffer(0..end);
                    break;
                }
                Some(end) => {
                    self.carry.extend_from_slice(available.get(..end).unwrap_or_default());
                    self.consume(end + 1);
                    self.current = Span::Carry(0..self.carry.len());
                    break;
                }
                None => {
                    let length = available.len();
                    self.carry.extend_from_slice(available);
                    self.consume(length);
                    if self.carry.len() > self.max_line_bytes {
                        self.line += 1;
                        self.discard = true;
                        return Err(self.too_long());
                    }
                }
            }
        }
        self.line += 1;
        self.trim()?;
        Ok(true)
    }

    /// Removes the byte order mark and the carriage return from the current line, and checks its length.
    fn trim(&mut self) -> Result<(), CorpusError> {
        let line = slice(&mut self.reader, &self.carry, &self.current);
        let start =
            if self.line == 1 && line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let end = line.len() - usize::from(line.ends_with(b"\r"));
        let trimmed = start..end.max(start);
        if trimmed.len() > self.max_line_bytes {
            return Err(self.too_long());
        }
        self.current = match self.current {
            Span::Buffer(_) => Span::Buffer(trimmed),
            Span::Carry(_) => Span::Carry(trimmed),
        };
        Ok(())
    }

    /// Skips the rest of the current line.
    fn pass_over_line(&mut self) -> Result<(), CorpusError> {
        loop {
            let (length, ended) = match self.reader.fill_buf() {
                Ok([]) => return Ok(()),
                Ok(available) => match memchr(b'\n', available) {
                    Some(end) => (end + 1, true),
                    None => (available.len(), false),
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.read_error(error)),
            };
            self.consume(length);
            if ended {
                return Ok(());
            }
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.consumed += bytes as u64;
    }

    fn read_error(&self, error: io::Error) -> CorpusError {
        let source: FileError = self.reader.error(error);
        CorpusError::Read { source, last_good: Position::Line(self.line) }
    }

    fn too_long(&mut self) -> CorpusError {
        let line = match self.discard {
            true => &self.carry,
            false => slice(&mut self.reader, &self.carry, &self.current),
        };
        let found = format!("a longer line that begins {}", excerpt(line));
        self.bad(BadKind::TooLong, found, format!("at most {} bytes a line", self.max_line_bytes))
    }
}

/// The bytes of `span`. (Not a method, so that it borrows only these fields.)
fn slice<'a>(reader: &'a mut InputReader, carry: &'a [u8], span: &Span) -> &'a [u8] {
    let (bytes, range) = match span {
        Span::Carry(range) => (carry, range),
        // The line is in the buffer already, so this reads nothing and cannot fail.
        Span::Buffer(range) => (reader.fill_buf().unwrap_or_default(), range),
    };
    bytes.get(range.clone()).unwrap_or_default()
}

fn invalid_utf8(place: Place, line: &[u8], valid_up_to: usize) -> CorpusError {
    let found = if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        "the byte order mark of UTF-16".to_owned()
    } else {
        let byte = line.get(valid_up_to).copied().unwrap_or_default();
        // A little of what comes before shows where to look.
        let around = line.get(valid_up_to.saturating_sub(20)..).unwrap_or_default();
        format!("byte 0x{byte:02x} as byte {} of the line, in {}", valid_up_to + 1, excerpt(around))
    };
    Wrong::new(BadKind::InvalidUtf8, found, "UTF-8 text").at(place)
}
