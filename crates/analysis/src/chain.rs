//! An analyzer as a list of steps: a tokenizer, then filters that change or drop one term after another.

use super::Tokenize;
use super::standard::Tokens;
use super::stop_words::StopWords;

/// A filter of single terms, which lie in a buffer that is used again for the next.
pub(super) enum Step {
    /// Changes the term. One that becomes empty is dropped.
    Change(fn(&mut String)),
    /// Drops the term if this is so.
    DropIf(fn(&str) -> bool),
    /// Drops the term if it is one of these.
    Stop(StopWords),
}

/// Steps in their order.
pub(super) struct Steps(Vec<Step>);

impl Steps {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self(steps)
    }

    /// Calls `each` with what the steps leave of `token`, if anything. `term` is the buffer for it.
    pub(super) fn take(&self, token: &str, term: &mut String, each: &mut dyn FnMut(&str)) {
        term.clear();
        term.push_str(token);
        let left = self.0.iter().all(|step| match step {
            Step::Change(change) => {
                change(term);
                true
            }
            Step::DropIf(is_so) => !is_so(term),
            Step::Stop(words) => !words.contains(term),
        });
        if left && !term.is_empty() {
            each(term);
        }
    }
}

/// Words by [`Tokens`], and steps.
pub(super) struct Chain {
    steps: Steps,
    /// A character that ends a word wherever it stands.
    separator: Option<char>,
}

impl Chain {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self { steps: Steps::new(steps), separator: None }
    }

    /// Words end at `separator` too, which is no part of them.
    pub(super) fn splitting_at(steps: Vec<Step>, separator: char) -> Self {
        Self { steps: Steps::new(steps), separator: Some(separator) }
    }
}

impl Tokenize for Chain {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        let mut term = String::new();
        let mut part = |text: &str| {
            for token in Tokens::new(text) {
                self.steps.take(&text[token.start..token.end], &mut term, each);
            }
        };
        match self.separator {
            Some(separator) => text.split(separator).for_each(part),
            None => part(text),
        }
    }
}
