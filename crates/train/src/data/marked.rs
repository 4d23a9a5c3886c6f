//! Texts with marked boundaries, from which a token classifier learns where segments end.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;
use toller_files::Checksum;
use toller_ir::{counted, in_words_of_json_line};

use super::records::{Form, Records};
use crate::TrainError;

/// A text, and where its segments end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedText {
    /// The text.
    pub text: String,
    /// The bytes after the last character of each segment, ascending. No white space is before them.
    pub ends: Vec<usize>,
}

/// A file of marked texts: JSON lines, a JSON array, or Parquet.
pub struct MarkedFile {
    records: Records,
}

/// The forms of a record.
#[derive(Deserialize)]
struct Raw {
    text: Option<String>,
    boundaries: Option<Vec<usize>>,
    segments: Option<Vec<String>>,
}

const EXPECTED: &str = "expected \"text\" and \"boundaries\", or \"segments\"";

impl MarkedText {
    /// Segments with a blank between them.
    fn of_segments(segments: &[String]) -> Result<Self, String> {
        let (mut text, mut ends) = (String::new(), Vec::with_capacity(segments.len()));
        for segment in segments.iter().map(|segment| segment.trim()) {
            if segment.is_empty() {
                return Err("an empty segment".to_owned());
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(segment);
            ends.push(text.len());
        }
        Ok(Self { text, ends })
    }

    /// A text whose segments end after these numbers of characters.
    fn of_boundaries(text: String, boundaries: &[usize]) -> Result<Self, String> {
        let (mut ends, mut characters, mut end) = (Vec::with_capacity(boundaries.len()), 0, 0);
        for &boundary in boundaries {
            let further = boundary.checked_sub(characters).filter(|further| *further > 0);
            let further = further.ok_or_else(|| format!("the boundary {boundary} after {characters}"))?;
            let Some((last, c)) = text[end..].char_indices().nth(further - 1) else {
                let length = text.chars().count();
                let length = counted(length, "character");
                return Err(format!("the boundary {boundary} in a text of {length}"));
            };
            (characters, end) = (boundary, end + last + c.len_utf8());
            ends.push(text[..end].trim_end().len());
        }
        Ok(Self { text, ends })
    }

    fn parse(record: &[u8]) -> Result<Self, String> {
        let raw: Raw = serde_json::from_slice(record).map_err(in_words_of_json_line)?;
        let marked = match raw {
            Raw { segments: Some(segments), text: None, boundaries: None } => Self::of_segments(&segments)?,
            Raw { text: Some(text), boundaries: Some(boundaries), segments: None } => {
                Self::of_boundaries(text, &boundaries)?
            }
            _ => return Err(EXPECTED.to_owned()),
        };
        if marked.text.trim().is_empty() { Err("the text is empty".to_owned()) } else { Ok(marked) }
    }

    /// Whether each of the text's tokens, by its bytes, is the last of a segment.
    #[must_use]
    pub fn labels(&self, places: &[Range<usize>]) -> Vec<bool> {
        let mut labels = vec![false; places.len()];
        for end in &self.ends {
            let before = places.partition_point(|place| place.start < *end);
            if let Some(last) = labels[..before].last_mut() {
                *last = true;
            }
        }
        labels
    }
}

impl MarkedFile {
    /// Maps a file, and checks every record. For a compressed file, CSV and Parquet, a temporary copy is
    /// mapped.
    ///
    /// # Errors
    /// When the file cannot be read, or has a bad record.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let records = Records::open(path)?;
        if records.form() == Form::Lines {
            return Err(records.error(0, EXPECTED.to_owned()));
        }
        let opened = Self { records };
        (0..opened.len()).into_par_iter().try_for_each(|index| opened.get(index).map(drop))?;
        Ok(opened)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        self.records.path()
    }

    /// The number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The checksum of the file.
    #[must_use]
    pub fn checksum(&self) -> &Checksum {
        self.records.checksum()
    }

    /// A text.
    ///
    /// # Errors
    /// When the record is bad.
    pub fn get(&self, index: usize) -> Result<MarkedText, TrainError> {
        MarkedText::parse(self.records.get(index)).map_err(|problem| self.records.error(index, problem))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{MarkedFile, MarkedText};

    fn parse(json: &str) -> Result<(String, Vec<usize>), String> {
        MarkedText::parse(json.as_bytes()).map(|marked| (marked.text, marked.ends))
    }

    #[test]
    fn both_forms_mark_the_same() {
        let expected = Ok(("甲乙。 丙".to_owned(), vec![9, 13]));
        assert_eq!(parse(r#"{"id": 7, "text": "甲乙。 丙", "boundaries": [3, 5]}"#), expected);
        assert_eq!(parse(r#"{"text": "甲乙。 丙", "boundaries": [4, 5]}"#), expected, "after the blank");
        assert_eq!(parse(r#"{"segments": [" 甲乙。", "丙\n"]}"#), expected);
        assert_eq!(parse(r#"{"text": "a b", "boundaries": []}"#), Ok(("a b".to_owned(), Vec::new())));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, problem) in [
            (r#"{"text": "ab"}"#, "expected \"text\" and"),
            (r#"{"text": "ab", "boundaries": [1], "segments": ["ab"]}"#, "expected \"text\" and"),
            (r#"{"text": "甲", "boundaries": [2]}"#, "the boundary 2 in a text of 1 character"),
            (r#"{"text": "ab", "boundaries": [2, 1]}"#, "the boundary 1 after 2"),
            (r#"{"text": "ab", "boundaries": [0]}"#, "the boundary 0 after 0"),
            (r#"{"text": "ab", "boundaries": ["1"]}"#, "invalid type"),
            (r#"{"segments": ["a", " "]}"#, "an empty segment"),
            (r#"{"segments": []}"#, "the text is empty"),
            ("[1]", "invalid"),
        ] {
            let error = parse(json).unwrap_err();
            assert!(error.contains(problem), "{json}: {error}");
        }
    }

    #[test]
    fn the_last_token_that_begins_before_an_end_is_a_last_one() {
        let labels = |ends: &[usize]| {
            let marked = MarkedText { text: "ab cde f".to_owned(), ends: ends.to_vec() };
            marked.labels(&[0..2, 3..5, 5..6, 7..8])
        };
        assert_eq!(labels(&[2, 8]), [true, false, false, true]);
        assert_eq!(labels(&[4, 6]), [false, true, true, false], "an end within a token");
        assert_eq!(MarkedText { text: "x".to_owned(), ends: vec![1] }.labels(&[]), [false; 0]);
    }

    #[test]
    fn a_bad_record_is_named_by_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.jsonl");
        std::fs::write(&path, "{\"segments\": [\"a\"]}\n\n{\"text\": \"b\"}\n").unwrap();
        let error = MarkedFile::open(&path).err().unwrap().to_string();
        assert!(error.contains("data.jsonl, line 3: expected"), "{error}");
        std::fs::write(&path, "a\tb\n").unwrap();
        let error = MarkedFile::open(&path).err().unwrap().to_string();
        assert!(error.contains("data.jsonl, line 1: expected"), "{error}");
        std::fs::write(&path, "[{\"segments\": [\"a\", \"b\"]}]").unwrap();
        let file = MarkedFile::open(&path).unwrap();
        assert_eq!((file.len(), file.get(0).unwrap().ends), (1, vec![1, 3]));
    }
}
