//! Chinese and Korean by pairs of adjacent characters, as in Lucene's `CJKAnalyzer`.

use super::Tokenize;
use super::filters::{lower_case, width};
use super::standard::{Kind, Tokens};
use super::stop_words::StopWords;

/// Every two adjacent characters of ideographs, kana and Hangul are a term, and so is a character without
/// such a neighbour. Other words stay whole, in lower case.
pub(super) struct Bigrams {
    stop_words: StopWords,
}

impl Bigrams {
    pub(super) fn new(stop_words: StopWords) -> Self {
        Self { stop_words }
    }

    fn pass(&self, term: &str, each: &mut dyn FnMut(&str)) {
        if !term.is_empty() && !self.stop_words.contains(term) {
            each(term);
        }
    }
}

impl Tokenize for Bigrams {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        let mut term = String::new();
        let mut pair = String::new();
        // The last character of a run of such tokens, and where the run continues.
        let mut run: Option<Run> = None;
        for token in Tokens::new(text) {
            term.clear();
            term.push_str(&text[token.start..token.end]);
            width(&mut term);
            lower_case(&mut term);
            if run.is_some_and(|run| run.end != token.start) || !is_paired(token.kind) {
                self.finish(run.take(), &mut pair, each);
            }
            if !is_paired(token.kind) {
                self.pass(&term, each);
                continue;
            }
            for char in term.chars() {
                if let Some(before) = run {
                    pair.clear();
                    pair.extend([before.last, char]);
                    self.pass(&pair, each);
                }
                run = Some(Run { last: char, alone: run.is_none(), end: token.end });
            }
        }
        self.finish(run, &mut pair, each);
    }
}

#[derive(Clone, Copy)]
struct Run {
    last: char,
    /// Whether this character is the only one so far.
    alone: bool,
    end: usize,
}

impl Bigrams {
    /// A run of one character is a term by itself.
    fn finish(&self, run: Option<Run>, term: &mut String, each: &mut dyn FnMut(&str)) {
        if let Some(Run { last, alone: true, .. }) = run {
            term.clear();
            term.push(last);
            self.pass(term, each);
        }
    }
}

fn is_paired(kind: Kind) -> bool {
    matches!(kind, Kind::Hangul | Kind::Katakana | Kind::Ideograph | Kind::Hiragana)
}
