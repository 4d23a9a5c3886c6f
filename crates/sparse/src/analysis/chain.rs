//! An analyzer as a list of steps: a tokenizer, then filters that change or drop one term after another.

use super::Tokenize;
use super::standard::Tokens;
use super::stop_words::StopWords;

/// A filter of single terms, which lie in a buffer that is used again for the next.
pub(super) enum Step {
    /// Changes the term. One that becomes empty is dropped.
    Change(fn(&mut String)),
    /// Drops the term if it is one of these.
    Stop(StopWords),
}

/// `StandardTokenizer` and steps.
pub(super) struct Chain {
    steps: Vec<Step>,
}

impl Chain {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self { steps }
    }

    /// Whether there is a term left after all steps.
    fn keeps(&self, term: &mut String) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Change(change) => {
                change(term);
                true
            }
            Step::Stop(words) => !words.contains(term),
        }) && !term.is_empty()
    }
}

impl Tokenize for Chain {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        let mut term = String::new();
        for token in Tokens::new(text) {
            term.clear();
            term.push_str(&text[token.start..token.end]);
            if self.keeps(&mut term) {
                each(&term);
            }
        }
    }
}
