//! A file that is one JSON array or object, read element by element.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;

use serde::Deserializer as _;
use serde::de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor};
use toller_files::InputReader;
use toller_ir::{Position, in_words_of_json};

use crate::error::{CorpusError, Place};

/// What the file is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Array,
    Object,
}

/// Reads a file that is one JSON array or object, and calls `consume` with the place, the key (empty in an
/// array) and the value of each element. One element is in memory at a time.
///
/// # Errors
/// What `consume` returns; and when the file is not such JSON or an element is longer than
/// `max_element_bytes`, which cannot be skipped, since the start of the next element is unknown.
pub(crate) fn for_each_element<T: DeserializeOwned>(
    reader: InputReader,
    format: &'static str,
    shape: Shape,
    max_element_bytes: usize,
    consume: impl FnMut(Place, String, T) -> Result<(), CorpusError>,
) -> Result<(), CorpusError> {
    let input = reader.input().clone();
    let file = input.to_string();
    let progress = Progress { element: Cell::new(0), element_bytes: Cell::new(0) };
    let bounded = Bounded { reader, progress: &progress, max_element_bytes: max_element_bytes as u64 };
    // serde_json reads single bytes, which is fast only from a `BufReader`.
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(CHUNK_BYTES, bounded));
    let mut stopped = None;
    let elements = Elements {
        shape,
        file: &file,
        progress: &progress,
        stopped: &mut stopped,
        consume,
        element: PhantomData,
    };
    let read = json.deserialize_any(elements).and_then(|()| json.end());
    let Err(error) = read else { return Ok(()) };
    if let Some(stopped) = stopped {
        return Err(stopped);
    }
    if progress.element_bytes.get() > max_element_bytes as u64 {
        let element = progress.element.get() + 1;
        let message = format!("element {element} is longer than {max_element_bytes} bytes");
        let position = Some(Position::Record(element));
        return Err(CorpusError::Broken { file, format, message, position });
    }
    if error.is_io() {
        let last_good = Position::Record(progress.element.get());
        return Err(CorpusError::Read { source: input.error("read", error.into()), last_good });
    }
    // An error that serde did not find itself has no line.
    let position = (error.line() > 0).then(|| Position::Line(error.line() as u64));
    Err(CorpusError::Broken { file, format, message: in_words_of_json(error), position })
}

/// How much of the file is read at a time, and so the slack of the bound on an element.
const CHUNK_BYTES: usize = 64 << 10;

struct Progress {
    /// How many elements are read.
    element: Cell<u64>,
    /// The bytes read since the last of them.
    element_bytes: Cell<u64>,
}

struct Bounded<'a> {
    reader: InputReader,
    progress: &'a Progress,
    max_element_bytes: u64,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let bytes = self.progress.element_bytes.get() + read as u64;
        self.progress.element_bytes.set(bytes);
        if bytes > self.max_element_bytes { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(read) }
    }
}

struct Elements<'a, T, F> {
    shape: Shape,
    file: &'a str,
    progress: &'a Progress,
    /// The error of `consume`, which serde's error type cannot hold.
    stopped: &'a mut Option<CorpusError>,
    consume: F,
    element: PhantomData<T>,
}

impl<T, F: FnMut(Place, String, T) -> Result<(), CorpusError>> Elements<'_, T, F> {
    fn take<E: serde::de::Error>(&mut self, key: String, element: T) -> Result<(), E> {
        let number = self.progress.element.get() + 1;
        self.progress.element.set(number);
        self.progress.element_bytes.set(0);
        let place = Place { file: self.file.to_owned(), position: Position::Record(number) };
        (self.consume)(place, key, element).map_err(|error| {
            *self.stopped = Some(error);
            E::custom("stopped")
        })
    }
}

impl<'de, T: DeserializeOwned, F: FnMut(Place, String, T) -> Result<(), CorpusError>> Visitor<'de>
    for Elements<'_, T, F>
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.shape {
            Shape::Array => "a JSON array",
            Shape::Object => "a JSON object",
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        if self.shape != Shape::Array {
            return Err(A::Error::custom("expected a JSON object, found an array"));
        }
        while let Some(element) = elements.next_element()? {
            self.take(String::new(), element)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        if self.shape != Shape::Object {
            return Err(A::Error::custom("expected a JSON array, found an object"));
        }
        while let Some((key, value)) = entries.next_entry()? {
            self.take(key, value)?;
        }
        Ok(())
    }
}
