//! Files of examples: JSON lines, or a JSON array as DPR has it. A file is mapped, and an example is parsed
//! when it is needed.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rayon::prelude::*;
use toller_files::{Checksum, FileError, open_regular};

use super::Example;
use super::record::parse;
use crate::TrainError;

/// The examples of a file.
pub struct ExampleFile {
    path: PathBuf,
    map: Mmap,
    records: Vec<Range<usize>>,
    checksum: Checksum,
}

impl ExampleFile {
    /// Maps a file, and checks every record.
    ///
    /// # Errors
    /// When the file cannot be read, is compressed, or has a bad record.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let file: File = open_regular(path).map_err(FileError::on("open", path))?;
        // SAFETY: the file is only read. The user has to keep other programs from changing it.
        let map = unsafe { Mmap::map(&file) }.map_err(FileError::on("map", path))?;
        let is_array = map.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let records = if is_array { elements(&map) } else { lines(&map) };
        let opened = Self { path: path.to_owned(), checksum: Checksum::of(&map), map, records };
        (0..opened.records.len()).into_par_iter().try_for_each(|index| opened.get(index).map(drop))?;
        Ok(opened)
    }

    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The checksum of the file.
    #[must_use]
    pub fn checksum(&self) -> &Checksum {
        &self.checksum
    }

    /// An example.
    ///
    /// # Errors
    /// When the record is bad.
    pub fn get(&self, index: usize) -> Result<Example, TrainError> {
        let record = self.records[index].clone();
        parse(&self.map[record.clone()]).map_err(|problem| TrainError::Record {
            path: self.path.clone(),
            line: self.map[..record.start].iter().filter(|&&byte| byte == b'\n').count() + 1,
            problem,
        })
    }
}

/// The lines that are not blank.
fn lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if !line.trim_ascii().is_empty() {
            found.push(start..start + line.len());
        }
        start += line.len();
    }
    found
}

/// The elements of an array. What is between or after them is not checked: a truncated last element is a
/// record that does not parse.
fn elements(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, None);
    let (mut in_string, mut escaped) = (false, false);
    for (index, &byte) in bytes.iter().enumerate() {
        if in_string {
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                if depth == 1 {
                    start = Some(index);
                }
                depth += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 1
                    && let Some(start) = start.take()
                {
                    found.push(start..index + 1);
                }
            }
            _ => {}
        }
    }
    found.extend(start.map(|start| start..bytes.len()));
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{ExampleFile, elements, lines};

    #[test]
    fn records_are_found() {
        let text = "[{\"a\": \"]\\\"}\"}, {\"b\": [1, {}]}\n]";
        let found: Vec<&str> = elements(text.as_bytes()).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["{\"a\": \"]\\\"}\"}", "{\"b\": [1, {}]}"]);
        assert_eq!(elements(b"[{\"a\": 1}, {\"b\"").len(), 2, "a truncated element is a record");
        assert_eq!(lines(b"one\n\n  \ntwo").len(), 2);
    }

    #[test]
    fn a_bad_record_is_named_by_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.jsonl");
        std::fs::write(&path, "{\"q\": \"a\", \"p\": \"b\"}\n\n{\"q\": \"a\"}\n").unwrap();
        let error = ExampleFile::open(&path).err().unwrap().to_string();
        assert!(error.contains("data.jsonl, line 3: expected DPR's"), "{error}");
        std::fs::write(&path, "[{\"question\": \"a\", \"positive_ctxs\": [{\"text\": \"b\"}]}]").unwrap();
        let file = ExampleFile::open(&path).unwrap();
        assert_eq!((file.len(), file.get(0).unwrap().query), (1, "a".to_owned()));
    }
}
