//! The records of a file: lines, or the elements of an array. The content is mapped, and a record is parsed
//! when it is needed.

use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use toller_files::Checksum;
use toller_ir::Position;

use super::content;
use crate::TrainError;

/// The records of a file.
pub(super) struct Records {
    path: PathBuf,
    map: Mmap,
    places: Vec<Range<usize>>,
    form: Form,
    checksum: Checksum,
}

/// What the records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON objects, one in each line.
    Json,
    /// JSON objects in an array.
    Array,
    /// Lines of anything else.
    Lines,
}

/// Some programs write it at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Records {
    /// Maps a file. Of a compressed file, of CSV and of Parquet, a temporary copy is mapped.
    pub(super) fn open(path: &Path) -> Result<Self, TrainError> {
        let map = content::map(path)?;
        let start = if map.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut begin = map[start..].iter().filter(|byte| !byte.is_ascii_whitespace());
        let (places, form) = match [begin.next(), begin.next()] {
            [Some(b'['), Some(b'{' | b']')] => {
                let elements = elements(&map[start..]).map_err(|place| {
                    let position = Position::Line(line_of(&map, start + place));
                    let problem = "an element that is not an object, or an array without an end".to_owned();
                    TrainError::Record { path: path.to_owned(), position, problem }
                })?;
                (elements.into_iter().map(|own| own.start + start..own.end + start).collect(), Form::Array)
            }
            [Some(b'{') | None, _] => (lines(&map, start), Form::Json),
            _ => (lines(&map, start), Form::Lines),
        };
        Ok(Self { path: path.to_owned(), checksum: Checksum::of(&map), map, places, form })
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// The number of records.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The checksum of the content.
    pub(super) fn checksum(&self) -> &Checksum {
        &self.checksum
    }

    /// The bytes of a record.
    pub(super) fn get(&self, index: usize) -> &[u8] {
        &self.map[self.places[index].clone()]
    }

    /// Leaves the first record out.
    pub(super) fn skip_first(&mut self) {
        self.places.drain(..1);
    }

    /// The error that a record has this problem.
    pub(super) fn error(&self, index: usize, problem: String) -> TrainError {
        TrainError::Record { path: self.path.clone(), position: self.position(index), problem }
    }

    /// The error that a record has only identifiers.
    pub(super) fn without_texts(&self, index: usize) -> TrainError {
        self.not_texts(index, "identifiers".to_owned())
    }

    /// The error that a record does not have the texts of an example, but this.
    pub(super) fn not_texts(&self, index: usize, found: String) -> TrainError {
        TrainError::NoTexts { path: self.path.clone(), position: self.position(index), found }
    }

    /// Where a record is. An array is often one long line.
    pub(super) fn position(&self, index: usize) -> Position {
        match self.form {
            Form::Array => Position::Record(index as u64 + 1),
            Form::Json | Form::Lines => Position::Line(line_of(&self.map, self.places[index].start)),
        }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// The line of a byte, from 1.
fn line_of(bytes: &[u8], place: usize) -> u64 {
    bytes[..place].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1
}

/// The lines from `start` on that are not blank.
fn lines(bytes: &[u8], mut start: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for line in bytes[start..].split_inclusive(|&byte| byte == b'\n') {
        if !line.trim_ascii().is_empty() {
            found.push(start..start + line.len());
        }
        start += line.len();
    }
    found
}

/// The elements of an array of objects. A truncated last element is a record that does not parse.
///
/// # Errors
/// The place of what is not an object, or of the end of an array that does not end.
fn elements(bytes: &[u8]) -> Result<Vec<Range<usize>>, usize> {
    let mut found = Vec::new();
    let (mut depth, mut start, mut has_ended) = (0_usize, None, false);
    let (mut in_string, mut escaped) = (false, false);
    for (index, &byte) in bytes.iter().enumerate() {
        if in_string {
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        let is_between = depth < 2 && start.is_none();
        match byte {
            b'[' if depth == 0 && !has_ended => depth = 1,
            b']' if depth == 1 => (depth, has_ended) = (0, true),
            b'{' if depth == 1 => (depth, start) = (2, Some(index)),
            b',' if depth == 1 => {}
            _ if byte.is_ascii_whitespace() => {}
            _ if is_between => return Err(index),
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth -= 1;
                if depth == 1 {
                    found.extend(start.take().map(|start| start..index + 1));
                }
            }
            _ => {}
        }
    }
    match start {
        Some(start) => found.push(start..bytes.len()),
        None if !has_ended => return Err(bytes.len()),
        None => {}
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{elements, lines};

    #[test]
    fn records_are_found() {
        let text = "[{\"a\": \"]\\\"}\"}, {\"b\": [1, {}]}\n]";
        let found = elements(text.as_bytes()).unwrap_or_default();
        let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["{\"a\": \"]\\\"}\"}", "{\"b\": [1, {}]}"]);
        assert_eq!(
            elements(b"[{\"a\": 1}, {\"b\"").map(|found| found.len()),
            Ok(2),
            "a truncated element is a record"
        );
        for (text, place) in
            [("[{}, null]", 5), ("[{}, \"x\"]", 5), ("[{}, ", 5), ("[{}] {}", 5), ("[{}]]", 4), ("[{}}", 3)]
        {
            assert_eq!(elements(text.as_bytes()), Err(place), "{text}");
        }
        assert_eq!(lines(b"one\n\n  \ntwo", 0), [0..4, 8..11]);
        assert_eq!(lines(b"...one\ntwo", 3), [3..7, 7..10]);
    }
}
