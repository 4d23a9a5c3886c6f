//! An analyzer as a tokenizer and a list of steps, which change or drop one term after another.

use icu_segmenter::WordSegmenterBorrowed;
use jieba_rs::Jieba;

use super::Tokenize;
use super::letters::is_letter_or_digit;
use super::standard::Tokens;
use super::stop_words::StopWords;

/// How a text becomes words, before any step.
pub(super) enum Words {
    /// By [`Tokens`].
    Standard,
    /// By [`Tokens`], and at a character that ends a word wherever it is and is not part of the word.
    SplitAt(char),
    /// By ICU's dictionaries, for Thai and Japanese, which are written without spaces between words. Words
    /// begin with a letter or a digit.
    Dictionary(WordSegmenterBorrowed<'static>),
    /// Chinese words by jieba's dictionary and, for words that are not in it, its model. Words have a letter
    /// or a digit.
    Jieba(Box<Jieba>),
}

/// A filter of single terms, which are in a buffer that is used again for the next.
pub(super) enum Step {
    /// Changes the term. A term that becomes empty is dropped.
    Change(fn(&mut String)),
    /// Drops the term if it is one of these.
    Stop(StopWords),
}

/// Words, and steps in their order.
pub(super) struct Chain {
    pub(super) words: Words,
    pub(super) steps: Vec<Step>,
}

impl Chain {
    /// Calls `each` with what the steps leave of `word`, if anything. `term` is the buffer for it.
    fn take(&self, word: &str, term: &mut String, each: &mut dyn FnMut(&str)) {
        term.clear();
        term.push_str(word);
        let left = self.steps.iter().all(|step| match step {
            Step::Change(change) => {
                change(term);
                true
            }
            Step::Stop(words) => !words.contains(term),
        });
        if left && !term.is_empty() {
            each(term);
        }
    }
}

impl Tokenize for Chain {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        let mut term = String::new();
        let mut take = |word: &str| self.take(word, &mut term, each);
        let mut standard =
            |text: &str| Tokens::new(text).for_each(|token| take(&text[token.start..token.end]));
        match &self.words {
            Words::Standard => standard(text),
            Words::SplitAt(separator) => text.split(*separator).for_each(standard),
            Words::Dictionary(segmenter) => {
                let mut start = 0;
                for end in segmenter.segment_str(text) {
                    let word = &text[start..end];
                    start = end;
                    if word.chars().next().is_some_and(is_letter_or_digit) {
                        take(word);
                    }
                }
            }
            Words::Jieba(dictionary) => {
                let words = dictionary.cut(text, true).into_iter().map(|token| token.word);
                words.filter(|word| word.chars().any(is_letter_or_digit)).for_each(take);
            }
        }
    }
}
