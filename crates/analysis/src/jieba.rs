//! Chinese words by jieba's dictionary and, for words that are not in it, its model.

use jieba_rs::Jieba;

use super::Tokenize;
use super::chain::{Step, Steps};
use super::letters::is_letter_or_digit;

/// Words with a letter or a digit, and steps.
pub(super) struct ChineseWords {
    dictionary: Jieba,
    steps: Steps,
}

impl ChineseWords {
    /// Unpacks the dictionary, which takes a tenth of a second.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self { dictionary: Jieba::new(), steps: Steps::new(steps) }
    }
}

impl Tokenize for ChineseWords {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        let mut term = String::new();
        for token in self.dictionary.cut(text, true) {
            let word = token.word;
            if word.chars().any(is_letter_or_digit) {
                self.steps.take(word, &mut term, each);
            }
        }
    }
}
