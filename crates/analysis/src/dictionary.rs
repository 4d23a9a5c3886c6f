//! Thai and Japanese, which are written without spaces between words: ICU's dictionaries find them.

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

use super::Tokenize;
use super::chain::{Step, Steps};
use super::letters::is_letter_or_digit;

/// Words that begin with a letter or a digit, and steps.
pub(super) struct DictionaryWords {
    words: WordSegmenterBorrowed<'static>,
    steps: Steps,
}

impl DictionaryWords {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        let words = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
        Self { words, steps: Steps::new(steps) }
    }
}

impl Tokenize for DictionaryWords {
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

/// One or two hiragana are a particle or an ending in Japanese, not a word that a text is about.
pub(super) fn is_short_hiragana(term: &str) -> bool {
    term.chars().count() <= 2 && term.chars().all(|char| matches!(char, 'ぁ'..='ゟ' | 'ー'))
}
