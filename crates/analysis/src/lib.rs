//! How a text becomes index terms: one [`Analyzer`] a language, by its ISO 639-1 code, as Lucene has them.

mod bigrams;
mod chain;
mod chars;
mod dictionary;
mod error;
mod filters;
mod jieba;
mod languages;
mod letters;
mod standard;
mod stem;
mod stop_words;
mod whitespace;

use std::sync::Arc;

pub use error::AnalysisError;

/// A chain of tokenizer and filters: text in, index terms out, in the order of the text.
pub trait Tokenize: Send + Sync {
    /// Calls `each` with every term of `text`.
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str));
}

/// What turns the texts of a collection, and of its queries, into terms. Cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Analyzer {
    name: Arc<str>,
    chain: Arc<dyn Tokenize>,
}

impl Analyzer {
    /// The analyzer of one of the [`Analyzer::names`].
    ///
    /// # Errors
    /// [`AnalysisError::UnknownName`], which lists the names that there are.
    pub fn by_name(name: &str) -> Result<Self, AnalysisError> {
        match languages::by_name(name) {
            Some(chain) => Ok(Self::custom(name, chain)),
            None => Err(AnalysisError::UnknownName { name: name.to_owned() }),
        }
    }

    /// What [`Analyzer::by_name`] knows: languages by their ISO 639-1 codes (`en`, `ar`, ...), and others.
    #[must_use]
    pub fn names() -> &'static [&'static str] {
        languages::NAMES
    }

    /// An analyzer made elsewhere, under the name that an index remembers it by.
    #[must_use]
    pub fn custom(name: &str, chain: Arc<dyn Tokenize>) -> Self {
        Self { name: name.into(), chain }
    }

    /// The name that [`Analyzer::by_name`] knows it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls `each` with every term of `text`, in order.
    pub fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        self.chain.tokenize(text, each);
    }

    /// The terms of `text`, in order.
    #[must_use]
    pub fn analyze(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.tokenize(text, &mut |term| terms.push(term.to_owned()));
        terms
    }
}
