//! Passages of documents: windows of words, sentences or characters.

use std::ops::Range;
use std::path::Path;

use toller_ir::Passage;

use crate::error::DatasetError;
use crate::folder::{Folder, ParallelFile, check_id};
use crate::lines::DocumentLine;
use crate::reqa::{SentenceRules, sentences};
use crate::statistics::{Lengths, Part, Statistics, mean};

/// What windows are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// What is between white space.
    Words,
    /// Sentences by these rules.
    Sentences(SentenceRules),
    /// Characters of Unicode, for languages without spaces between words.
    Characters,
}

/// How documents are cut into windows, which may overlap (MaxP: Dai and Callan 2019, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// What they are counted in.
    pub unit: WindowUnit,
    /// Units of a window, from 1.
    pub length: usize,
    /// Units from the start of a window to the start of the next, from 1 to `length`.
    pub stride: usize,
}

impl Windows {
    /// The windows of a text, from its first unit to its last, as they are in the text. The last one reaches
    /// the end of the text, and may be shorter. A text without a unit has an empty window.
    #[must_use]
    pub fn of<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let units = self.units(text);
        let (length, mut start) = (self.length.max(1), 0);
        let mut windows = Vec::new();
        loop {
            let window = units.get(start..units.len().min(start + length)).unwrap_or_default();
            let (Some(first), Some(last)) = (window.first(), window.last()) else { return vec![""] };
            windows.push(text.get(first.start..last.end).unwrap_or_default());
            if start + length >= units.len() {
                return windows;
            }
            start += self.stride.clamp(1, length);
        }
    }

    /// The bytes of each unit.
    fn units(&self, text: &str) -> Vec<Range<usize>> {
        match self.unit {
            WindowUnit::Words => words(text).collect(),
            WindowUnit::Sentences(rules) => sentences(text, rules),
            WindowUnit::Characters => {
                let bounds = text.char_indices().map(|(at, character)| at..at + character.len_utf8());
                bounds.collect()
            }
        }
    }
}

/// The bytes of each word.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    let pieces = text.split_inclusive(char::is_whitespace).map(move |piece| {
        let start = at;
        at += piece.len();
        start..start + piece.trim_end().len()
    });
    pieces.filter(|word| !word.is_empty())
}

/// The most characters that words have on average where there are spaces between them. Those of European
/// languages have 5 to 8.
const LONGEST_WORDS: usize = 20;

/// Whether the words of a text are too long for a language with spaces between words.
fn has_long_words(text: &str) -> bool {
    text.chars().count() > LONGEST_WORDS * text.split_whitespace().count()
}

/// A folder with the passages of documents as a collection, which is being filled.
#[derive(Debug)]
pub struct PassageFolder {
    folder: Folder,
    file: ParallelFile,
    windows: Windows,
    delimiter: String,
    documents: usize,
    lengths: Lengths,
    /// Windows of words that have no spaces between words, as it seems.
    unspaced: usize,
}

impl PassageFolder {
    /// Makes the folder, with the file `corpus.jsonl`.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn create(output: &Path, windows: Windows, delimiter: &str) -> Result<Self, DatasetError> {
        let mut folder = Folder::create(output)?;
        let file = folder.parallel_file("corpus.jsonl")?;
        let delimiter = delimiter.to_owned();
        let lengths = Lengths::default();
        Ok(Self { folder, file, windows, delimiter, documents: 0, lengths, unspaced: 0 })
    }

    /// Adds the passages of a document, with its title. Their identifiers are the document's, the delimiter
    /// and a number from 0.
    ///
    /// # Errors
    /// If a run cannot hold the identifier, it has the delimiter, or the file cannot be written.
    pub fn add(&mut self, document: &Passage) -> Result<(), DatasetError> {
        check_id("document", &document.id)?;
        let prefix = format!("{}{}", document.id, self.delimiter);
        // A delimiter may also begin at the end of an identifier: `d#` and `##`.
        if prefix.find(&self.delimiter) != Some(document.id.len()) {
            let (id, delimiter) = (document.id.clone(), self.delimiter.clone());
            return Err(DatasetError::DelimiterInId { id, delimiter });
        }
        self.documents += 1;
        let title = document.title.as_deref().unwrap_or_default();
        for (number, text) in self.windows.of(&document.text).into_iter().enumerate() {
            let id = format!("{prefix}{number}");
            self.lengths.add(text);
            self.unspaced += usize::from(self.windows.unit == WindowUnit::Words && has_long_words(text));
            self.file.writer().json(&DocumentLine { id, title, text })?;
        }
        Ok(())
    }

    /// What is wrong with windows of words where more than a tenth have words of more than 20 characters on
    /// average: in a language without spaces between words, they cut nothing.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let (unspaced, all) = (self.unspaced, self.lengths.texts());
        (unspaced * 10 > all).then(|| {
            format!(
                "{unspaced} of {all} passages have words of more than {LONGEST_WORDS} characters on average, as \
                 if their language had no spaces between words, and may be very long"
            )
        })
    }

    /// Lets the file appear. Returns its name, and the number and lengths of the passages.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<(Vec<String>, Statistics), DatasetError> {
        let Self { mut folder, file, documents, lengths, .. } = self;
        folder.add(file)?;
        let passages = lengths.texts();
        let part = Part::new("passages").count("documents", documents).count("passages", passages);
        let part = part.real("passages_per_document", mean(passages as f64, documents)).lengths(&lengths);
        Ok((folder.commit()?, Statistics(vec![part])))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use toller_ir::Passage;

    use super::{PassageFolder, WindowUnit, Windows};
    use crate::error::DatasetError;
    use crate::reqa::SentenceRules;

    fn windows(unit: WindowUnit, length: usize, stride: usize, text: &str) -> Vec<&str> {
        Windows { unit, length, stride }.of(text)
    }

    #[test]
    fn windows_overlap_and_the_last_reaches_the_end() {
        let words = |length, stride, text| windows(WindowUnit::Words, length, stride, text);
        assert_eq!(words(2, 2, " a  b\nc "), ["a  b", "c"]);
        assert_eq!(words(3, 2, "a b c d e"), ["a b c", "c d e"]);
        assert_eq!(words(3, 1, "a b c d"), ["a b c", "b c d"]);
        assert_eq!(words(9, 3, "a b c"), ["a b c"]);
        assert_eq!(words(2, 1, " \t "), [""]);
        assert_eq!(windows(WindowUnit::Characters, 3, 2, "犬は泳ぐ。"), ["犬は泳", "泳ぐ。"]);
        let sentences = |rules, text| windows(WindowUnit::Sentences(rules), 2, 1, text);
        let text = "Dr. Who swims.  It rains! Ducks come.";
        let english = ["Dr. Who swims.  It rains!", "It rains! Ducks come."];
        assert_eq!(sentences(SentenceRules::English, text), english);
        assert_eq!(sentences(SentenceRules::Unicode, "犬。猫。鳥。"), ["犬。猫。", "猫。鳥。"]);
    }

    #[test]
    fn passages_are_numbered_and_their_documents_can_be_told() {
        let folder = tempfile::tempdir().unwrap();
        let windows = Windows { unit: WindowUnit::Words, length: 2, stride: 1 };
        let mut passages = PassageFolder::create(folder.path(), windows, "#").unwrap();
        let document = |id: &str, title: Option<&str>, text: &str| Passage {
            id: id.to_owned(),
            title: title.map(str::to_owned),
            text: text.to_owned(),
            context: None,
        };
        passages.add(&document("d1", Some("T"), "a b c")).unwrap();
        passages.add(&document("d2", None, "")).unwrap();
        passages.add(&document("Geneva Durben", None, "d")).unwrap();
        let blank = passages.add(&document("d4 ", None, "a")).unwrap_err();
        assert_eq!(blank.to_string(), "the identifier \"d4 \" begins or ends with white space");
        let refused = passages.add(&document("d#3", None, "a"));
        assert!(matches!(refused, Err(DatasetError::DelimiterInId { .. })));
        let other = tempfile::tempdir().unwrap();
        let mut twice = PassageFolder::create(other.path(), windows, "##").unwrap();
        twice.add(&document("d#3", None, "a")).unwrap();
        let refused = twice.add(&document("d#", None, "a"));
        assert!(
            matches!(refused, Err(DatasetError::DelimiterInId { .. })),
            "`d###0` is a passage of `d`, too"
        );
        let (files, statistics) = passages.finish().unwrap();
        assert_eq!(files, ["corpus.jsonl"]);
        let written = std::fs::read_to_string(folder.path().join("corpus.jsonl")).unwrap();
        let lines = [
            r#"{"_id":"d1#0","title":"T","text":"a b"}"#,
            r#"{"_id":"d1#1","title":"T","text":"b c"}"#,
            r#"{"_id":"d2#0","text":""}"#,
            r#"{"_id":"Geneva Durben#0","text":"d"}"#,
        ];
        assert_eq!(written.lines().collect::<Vec<_>>(), lines);
        assert!(statistics.part("passages").is_some());
    }

    #[test]
    fn windows_of_words_without_spaces_are_reported() {
        let warning = |unit, texts: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let mut passages =
                PassageFolder::create(folder.path(), Windows { unit, length: 100, stride: 100 }, "#")
                    .unwrap();
            for (number, text) in texts.iter().enumerate() {
                let (id, text) = (number.to_string(), (*text).to_owned());
                passages.add(&Passage { id, text, ..Passage::default() }).unwrap();
            }
            passages.warning()
        };
        let chinese = "狗".repeat(30);
        let (chinese, english) = (chinese.as_str(), ["dogs swim"; 10]);
        let found = warning(WindowUnit::Words, &[chinese, "ducks"]).unwrap();
        assert!(found.starts_with("1 of 2 passages have words of more than 20 characters"), "{found}");
        assert_eq!(warning(WindowUnit::Characters, &[chinese]), None);
        assert_eq!(warning(WindowUnit::Words, &[]), None);
        assert_eq!(warning(WindowUnit::Words, &[&english[..], &[""][..]].concat()), None);
        // An address, among others.
        assert_eq!(warning(WindowUnit::Words, &[&english[..], &[chinese][..]].concat()), None);
    }

    proptest! {
        /// Nothing between the first unit and the last is lost, and no window is inside of another.
        #[test]
        fn windows_cover_a_text(text in "[ab 犬。.\n]{0,60}", length in 1..6_usize, stride in 1..6_usize) {
            let sentences = WindowUnit::Sentences(SentenceRules::Unicode);
            for unit in [WindowUnit::Words, sentences, WindowUnit::Characters] {
                let cut = Windows { unit, length, stride: stride.min(length) };
                let mut covered = 0;
                for window in cut.of(&text).into_iter().filter(|window| !window.is_empty()) {
                    let start = window.as_ptr() as usize - text.as_ptr() as usize;
                    prop_assert!(text[..start].len() <= covered || text[covered..start].trim().is_empty());
                    prop_assert!(start + window.len() > covered);
                    covered = start + window.len();
                }
                prop_assert!(text[covered..].trim().is_empty());
            }
        }
    }
}
