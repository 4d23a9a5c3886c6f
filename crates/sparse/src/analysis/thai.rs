//! Thai, which is written without spaces between words: they are found by a dictionary, that of ICU.

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

use super::Tokenize;
use super::chain::{Step, Steps};
use super::letters::is_letter_or_digit;

/// Words that begin with a letter or a digit, and steps.
pub(super) struct Thai {
    words: WordSegmenterBorrowed<'static>,
    steps: Steps,
}

impl Thai {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        let words = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
        Self { words, steps: Steps::new(steps) }
    }
}

impl Tokenize for Thai {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        let mut term = String::new();
        let mut start = 0;
        for end in self.words.segment_str(text) {
            let word = &text[start..end];
            start = end;
            if word.chars().next().is_some_and(is_letter_or_digit) {
                self.steps.take(word, &mut term, each);
            }
        }
    }
}
