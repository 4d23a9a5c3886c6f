//! Lines of a file, counted, bounded and checked.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use toller_files::InputReader;
use toller_ir::Position;

use crate::error::{BadKind, CorpusError, Place, Wrong, excerpt};

/// Reads a file line by line.
///
/// Line ends (`\n`, `\r\n`) and a byte order mark at the start of the file are removed. A line that is not
/// UTF-8 or is too long is a bad record, and the next call continues after it.
pub(crate) struct LineReader {
    reader: InputReader,
    /// The name of the input, for errors.
    file: String,
    /// The current line as it is in the file.
    raw: String,
    /// Which bytes of `raw` are the line.
    content: Range<usize>,
    /// Whether the rest of an overlong line must still be skipped.
    skips_rest: bool,
    line: u64,
    /// Bytes of the file before the current line, and up to its end.
    place: Range<u64>,
    max_line_bytes: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The capacity that the buffer keeps between long lines.
const BUFFER_BYTES: usize = 1 << 20;

impl LineReader {
    pub(crate) fn new(reader: InputReader, max_line_bytes: usize) -> Self {
        Self {
            file: reader.input().to_string(),
            reader,
            raw: String::new(),
            content: 0..0,
            skips_rest: false,
            line: 0,
            place: 0..0,
            max_line_bytes,
        }
    }

    /// The next line, or `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, CorpusError> {
        Ok(if self.advance()? { Some(self.text()) } else { None })
    }

    /// The current line.
    pub(crate) fn text(&self) -> &str {
        self.raw.get(self.content.clone()).unwrap_or_default()
    }

    /// The number of the current line, from one.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The byte range of the current line in the (decompressed) file, without its end and a byte order mark.
    pub(crate) fn span(&self) -> Range<u64> {
        let start = self.place.start;
        start + self.content.start as u64..start + self.content.end as u64
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
    pub(crate) fn advance(&mut self) -> Result<bool, CorpusError> {
        self.content = 0..0;
        let mut bytes = std::mem::take(&mut self.raw).into_bytes();
        if std::mem::take(&mut self.skips_rest) {
            let skipped = self.reader.skip_until(b'\n').map_err(|error| self.read_error(error))?;
            self.place.end += skipped as u64;
        }
        bytes.clear();
        bytes.shrink_to(BUFFER_BYTES);
        // A longer line is too long, even without a byte order mark and its end.
        let most = self.max_line_bytes.saturating_add(BYTE_ORDER_MARK.len() + b"\r\n".len()) as u64;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut bytes);
        let read = read.map_err(|error| self.read_error(error))? as u64;
        if read == 0 {
            return Ok(false);
        }
        self.place = self.place.end..self.place.end + read;
        self.line += 1;
        let has_mark = self.line == 1 && bytes.starts_with(BYTE_ORDER_MARK);
        let start = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        let line = bytes.get(start..).unwrap_or_default();
        let ended = line.strip_suffix(b"\n");
        self.skips_rest = ended.is_none() && read == most;
        let line = ended.unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.max_line_bytes {
            let found = format!("a longer line that begins {}", excerpt(line));
            let expected = format!("at most {} bytes a line", self.max_line_bytes);
            return Err(self.bad(BadKind::TooLong, found, expected));
        }
        let content = start..start + line.len();
        match String::from_utf8(bytes) {
            Ok(raw) => (self.raw, self.content) = (raw, content),
            Err(error) => {
                let line = error.as_bytes().get(content).unwrap_or_default();
                let valid_up_to = error.utf8_error().valid_up_to() - start;
                return Err(invalid_utf8(self.place(), line, valid_up_to));
            }
        }
        Ok(true)
    }

    fn read_error(&self, error: io::Error) -> CorpusError {
        CorpusError::Read { source: self.reader.error(error), last_good: Position::Line(self.line) }
    }
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
