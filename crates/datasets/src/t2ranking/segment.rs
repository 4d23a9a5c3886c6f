//! Passages from documents, by the scores of a token classifier (T2Ranking, section 4.2).

use std::ops::Range;
use std::path::Path;

use toller_ir::Passage;
use unicode_segmentation::UnicodeSegmentation;

use crate::error::DatasetError;
use crate::folder::{Folder, ParallelFile, check_id};
use crate::lines::DocumentLine;
use crate::statistics::{Lengths, Part, Statistics, mean};

/// The words of a text after which a passage may end, with their scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoredWords {
    /// The byte after each word, ascending, and the score of the word's last token.
    ends: Vec<(usize, f32)>,
}

impl ScoredWords {
    /// From the bytes and the score of each token. The last token of a word (UAX #29) has the word's score.
    #[must_use]
    pub fn new(text: &str, tokens: impl IntoIterator<Item = (Range<usize>, f32)>) -> Self {
        let mut words = text.split_word_bound_indices().map(|(at, word)| at + word.len()).peekable();
        let mut ends: Vec<(usize, f32)> = Vec::new();
        for (place, score) in tokens {
            if place.is_empty() {
                continue;
            }
            while words.next_if(|end| *end < place.end).is_some() {}
            // The end of a word may have no token: tokenizers remove some characters, such as accents.
            let Some(&word) = words.peek() else { break };
            match ends.last_mut() {
                Some((end, last)) if *end == word => *last = score,
                _ => ends.push((word, score)),
            }
        }
        Self { ends }
    }

    /// The passages of the text: it is cut after each word with a score of at least `sigma`. White space
    /// around passages is left out, and so are passages of nothing else.
    pub fn passages<'a>(&self, text: &'a str, sigma: f64) -> impl Iterator<Item = &'a str> {
        let cuts = self.ends.iter().filter(move |(_, score)| f64::from(*score) >= sigma).map(|(end, _)| *end);
        let mut start = 0;
        let passages = cuts.chain(std::iter::once(text.len())).map(move |end| {
            let passage = text.get(start..end).unwrap_or_default().trim();
            start = end;
            passage
        });
        passages.filter(|passage| !passage.is_empty())
    }
}

/// A folder of the passages at several thresholds, which is being filled.
#[derive(Debug)]
pub struct Segmentation {
    folder: Folder,
    documents: usize,
    /// By threshold, ascending.
    outputs: Vec<Output>,
}

/// The passages at a threshold.
#[derive(Debug)]
struct Output {
    sigma: f64,
    file: ParallelFile,
    lengths: Lengths,
}

impl Segmentation {
    /// Makes the folder, with a file for each threshold: `sigma-0.5.jsonl`.
    ///
    /// # Errors
    /// If a file cannot be made.
    pub fn create(output: &Path, sigmas: &[f64]) -> Result<Self, DatasetError> {
        let mut folder = Folder::create(output)?;
        let mut sigmas = sigmas.to_vec();
        sigmas.sort_by(f64::total_cmp);
        sigmas.dedup();
        let output = |sigma: f64| {
            let file = folder.parallel_file(&format!("sigma-{sigma}.jsonl"))?;
            Ok(Output { sigma, file, lengths: Lengths::default() })
        };
        let outputs = sigmas.into_iter().map(output).collect::<Result<_, DatasetError>>()?;
        Ok(Self { folder, documents: 0, outputs })
    }

    /// Adds a document. Its passages have its title, and its identifier with their number: `7#0`, `7#1`, ...
    /// Each document has an identifier of its own.
    ///
    /// # Errors
    /// If a run cannot hold the identifier, or a file cannot be written.
    pub fn add(&mut self, document: &Passage, words: &ScoredWords) -> Result<(), DatasetError> {
        check_id("document", &document.id)?;
        self.documents += 1;
        for Output { sigma, file, lengths } in &mut self.outputs {
            for (number, text) in words.passages(&document.text, *sigma).enumerate() {
                let id = format!("{}#{number}", document.id);
                lengths.add(text);
                let title = document.title.as_deref().unwrap_or_default();
                file.writer().json(&DocumentLine { id, title, text })?;
            }
        }
        Ok(())
    }

    /// Lets the files appear. Returns their names, and the number and lengths of the passages by threshold.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(self) -> Result<(Vec<String>, Statistics), DatasetError> {
        let Self { mut folder, documents, outputs, .. } = self;
        let mut parts = Vec::with_capacity(outputs.len());
        for Output { sigma, file, lengths } in outputs {
            folder.add(file)?;
            let passages = lengths.texts();
            let part = Part::new(format!("sigma {sigma}"));
            let part = part.count("documents", documents).count("passages", passages);
            let per_document = mean(passages as f64, documents);
            parts.push(part.real("passages_per_document", per_document).lengths(&lengths));
        }
        Ok((folder.commit()?, Statistics(parts)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use toller_ir::Passage;

    use super::{ScoredWords, Segmentation};

    fn passages(text: &str, tokens: &[(std::ops::Range<usize>, f32)], sigma: f64) -> Vec<String> {
        ScoredWords::new(text, tokens.iter().cloned()).passages(text, sigma).map(str::to_owned).collect()
    }

    #[test]
    fn a_passage_ends_with_a_word_of_a_high_score() {
        let text = "Rain fell. It is wet";
        let tokens = [(0..4, 0.2), (5..9, 0.1), (9..10, 0.5), (11..13, 0.3), (14..16, 0.0), (17..20, 0.9)];
        assert_eq!(passages(text, &tokens, 0.6), [text], "the end is no cut of its own");
        assert_eq!(passages(text, &tokens, 0.5), ["Rain fell.", "It is wet"], "equal is enough");
        assert_eq!(passages(text, &tokens, 0.25), ["Rain fell.", "It", "is wet"]);
    }

    #[test]
    fn words_are_not_cut_and_chinese_is() {
        let pieces = [(0..4, 0.9), (4..8, 0.9), (8..9, 0.9), (10..11, 0.9)];
        assert_eq!(passages("tollered. x", &pieces, 0.5), ["tollered", ".", "x"]);
        assert_eq!(passages("雨雪。冰", &[(0..3, 0.9), (3..6, 0.1), (6..9, 0.8)], 0.5), ["雨", "雪。", "冰"]);
        assert_eq!(passages("🐕 a", &[(0..4, 0.1), (0..4, 0.9), (5..6, 0.1)], 0.5), ["🐕", "a"]);
        let with_selector = [(0..1, 0.0), (1..4, 0.9), (8..9, 0.0)];
        assert_eq!(passages("a❤\u{fe0f} b", &with_selector, 0.5), ["a❤\u{fe0f}", "b"]);
        assert!(passages(" \n", &[], 0.5).is_empty());
    }

    proptest! {
        #[test]
        fn passages_are_the_text_and_a_lower_threshold_cuts_no_less(
            text in "[a-c .。雨]{0,40}",
            scores in prop::collection::vec(0.0_f32..1.0, 40),
        ) {
            let characters = text.char_indices().map(|(at, c)| at..at + c.len_utf8());
            let words = ScoredWords::new(&text, characters.zip(scores));
            let without_blanks = |text: &str| text.replace(' ', "");
            let mut before: Vec<&str> = Vec::new();
            for sigma in [0.9, 0.5, 0.1] {
                let passages: Vec<&str> = words.passages(&text, sigma).collect();
                prop_assert_eq!(without_blanks(&passages.concat()), without_blanks(&text));
                prop_assert!(passages.iter().all(|passage| passage.trim() == *passage));
                prop_assert!(passages.len() >= before.len());
                // Each passage is within one of the higher threshold.
                prop_assert!(passages.iter().all(|p| before.is_empty() || before.iter().any(|b| b.contains(p))));
                before = passages;
            }
        }
    }

    #[test]
    fn each_threshold_has_a_file_and_a_row() {
        let folder = tempfile::tempdir().unwrap();
        let mut segmentation = Segmentation::create(folder.path(), &[0.5, 0.25, 0.5]).unwrap();
        let document =
            |id: &str| Passage { id: id.into(), title: Some("T".into()), text: "a b".into(), context: None };
        let words = ScoredWords::new("a b", [(0..1, 0.25), (2..3, 0.0)]);
        segmentation.add(&document("x"), &words).unwrap();
        segmentation.add(&document("y"), &words).unwrap();
        segmentation.add(&document("x y"), &words).unwrap();
        assert!(segmentation.add(&document("x\ty"), &words).is_err(), "a tab in an identifier");
        let (files, statistics) = segmentation.finish().unwrap();
        assert_eq!(files, ["sigma-0.25.jsonl", "sigma-0.5.jsonl"]);
        let written = std::fs::read_to_string(folder.path().join("sigma-0.25.jsonl")).unwrap();
        assert_eq!(written.lines().nth(1), Some(r#"{"_id":"x#1","title":"T","text":"b"}"#));
        let json = statistics.to_json();
        assert_eq!(json["sigma 0.25"]["passages"], 6);
        assert_eq!(json["sigma 0.5"]["mean_characters"], 3.0);
    }
}
