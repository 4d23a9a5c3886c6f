//! The objects of a JSON file, whatever its line breaks: one after another, or in one array.

use std::io::{self, BufRead};
use std::ops::Range;

use toller_files::InputReader;
use toller_ir::Position;

use crate::error::{BadKind, CorpusError, Place, Wrong, excerpt};

/// Reads the objects of a file one by one. Only braces and strings are looked at, so an object that is not
/// JSON inside is one bad record, and so is one that is too long, which is not held in memory.
pub(crate) struct ObjectReader {
    reader: InputReader,
    /// The name of the input, for errors.
    file: String,
    max_bytes: usize,
    text: String,
    /// Where the object is in the (decompressed) file.
    span: Range<u64>,
    /// The objects so far, good and bad.
    count: u64,
    next: Next,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The first object, or the array.
    Anything,
    /// Another object, outside of an array.
    Object,
    /// The first object of the array, or its end.
    FirstElement,
    /// An object of the array, after a comma.
    Element,
    /// A comma, or the end of the array.
    Comma,
    /// Nothing more.
    End,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl ObjectReader {
    pub(crate) fn new(reader: InputReader, max_bytes: usize) -> Self {
        let file = reader.input().to_string();
        Self { reader, file, max_bytes, text: String::new(), span: 0..0, count: 0, next: Next::Anything }
    }

    /// The current object.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The byte range of the current object in the (decompressed) file.
    pub(crate) fn span(&self) -> Range<u64> {
        self.span.clone()
    }

    /// How many objects there are up to the current one, good and bad.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The place of the current object.
    pub(crate) fn place(&self) -> Place {
        Place { file: self.file.clone(), position: Position::Record(self.count) }
    }

    /// Moves to the next object. Returns false at the end of the file.
    pub(crate) fn advance(&mut self) -> Result<bool, CorpusError> {
        self.text.clear();
        if self.span.end == 0 && self.reader.peek(BYTE_ORDER_MARK.len()).starts_with(BYTE_ORDER_MARK) {
            self.skip(BYTE_ORDER_MARK.len());
        }
        loop {
            let byte = self.reader.fill_buf().map(|bytes| bytes.first().copied());
            let Some(byte) = byte.map_err(|error| self.read_error(error))? else {
                let may_end = matches!(self.next, Next::Anything | Next::Object | Next::End);
                return if may_end { Ok(false) } else { Err(self.broken("the file ends inside the array")) };
            };
            self.next = match (self.next, byte) {
                (next, b' ' | b'\t' | b'\r' | b'\n') => next,
                (Next::Anything | Next::Object, b'{') => return self.object(Next::Object),
                (Next::FirstElement | Next::Element, b'{') => return self.object(Next::Comma),
                (Next::Anything, b'[') => Next::FirstElement,
                (Next::FirstElement | Next::Comma, b']') => Next::End,
                (Next::Comma, b',') => Next::Element,
                (Next::End, _) => return Err(self.broken("the file goes on after the array")),
                (Next::Comma, _) => return Err(self.broken("no comma after the object")),
                _ => return Err(self.broken("something else than an object follows")),
            };
            self.skip(1);
        }
    }

    /// Reads the object that begins here.
    fn object(&mut self, then: Next) -> Result<bool, CorpusError> {
        self.next = then;
        self.count += 1;
        self.span.start = self.span.end;
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let (mut scan, mut is_too_long) = (Scan::default(), false);
        loop {
            let (taken, is_whole) = match self.reader.fill_buf() {
                Ok([]) => return Err(self.broken("the file ends inside the object")),
                Ok(chunk) => {
                    let end = scan.end(chunk);
                    let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
                    is_too_long |= bytes.len() + part.len() > self.max_bytes;
                    if !is_too_long {
                        bytes.extend_from_slice(part);
                    }
                    (part.len(), end.is_some())
                }
                Err(error) => return Err(self.read_error(error)),
            };
            self.skip(taken);
            if is_whole {
                break;
            }
        }
        if is_too_long {
            let found = format!("a longer object that begins {}", excerpt(&bytes));
            let expected = format!("at most {} bytes an object", self.max_bytes);
            return Err(Wrong::new(BadKind::TooLong, found, expected).at(self.place()));
        }
        self.text = String::from_utf8(bytes).map_err(|error| {
            let found = format!("{} in {}", error.utf8_error(), excerpt(error.as_bytes()));
            Wrong::new(BadKind::InvalidUtf8, found, "UTF-8 text").at(self.place())
        })?;
        Ok(true)
    }

    fn skip(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.span.end += bytes as u64;
    }

    /// Damage after which no object can be found.
    fn broken(&self, message: &str) -> CorpusError {
        CorpusError::Broken {
            file: self.file.clone(),
            format: "json",
            message: format!("{message} (record {})", self.count),
            position: Some(Position::Record(self.count)),
        }
    }

    fn read_error(&self, error: io::Error) -> CorpusError {
        CorpusError::Read { source: self.reader.error(error), last_good: Position::Record(self.count) }
    }
}

/// Where an object ends: at the brace that closes its first one.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// Where the object ends in the next bytes of it, if it does.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                _ if std::mem::take(&mut self.is_escaped) => {}
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' if !self.in_string => self.depth += 1,
                b'}' if !self.in_string => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}
