//! How a text becomes index terms: an [`Analyzer`] for each language, by its ISO 639-1 code, as in Lucene.

mod bigrams;
mod chain;
mod chars;
mod error;
mod filters;
mod impact;
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

    /// Calls `each` with every term of `text`, and with how often it counts there.
    fn weigh(&self, text: &str, each: &mut dyn FnMut(&str, u32)) {
        self.tokenize(text, &mut |term| each(term, 1));
    }
}

/// Turns the texts of a collection and of its queries into terms. Cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Analyzer {
    name: Arc<str>,
    chain: Arc<dyn Tokenize>,
}

impl Analyzer {
    /// The name of [`Analyzer::impact`].
    pub const IMPACT: &str = "impact";

    /// The analyzer of texts with impacts ([`toller_ir::impacts`]), which takes terms as they are.
    #[must_use]
    pub fn impact() -> Self {
        Self::custom(Self::IMPACT, Arc::new(impact::Impacts))
    }

    /// The analyzer of one of the [`Analyzer::names`].
    ///
    /// # Errors
    /// [`AnalysisError::UnknownName`], whose remedy lists the known names.
    pub fn by_name(name: &str) -> Result<Self, AnalysisError> {
        match languages::by_name(name) {
            Some(chain) => Ok(Self::custom(name, chain)),
            None => Err(AnalysisError::UnknownName { name: name.to_owned() }),
        }
    }

    /// The names that [`Analyzer::by_name`] knows: languages by their ISO 639-1 codes (`en`, `ar`, ...), and
    /// others.
    pub fn names() -> impl Iterator<Item = &'static str> {
        languages::names()
    }

    /// An analyzer made elsewhere, under the name that an index stores.
    #[must_use]
    pub fn custom(name: &str, chain: Arc<dyn Tokenize>) -> Self {
        Self { name: name.into(), chain }
    }

    /// The name by which [`Analyzer::by_name`] finds this analyzer.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls `each` with every term of `text`, in order.
    pub fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        self.chain.tokenize(text, each);
    }

    /// Calls `each` with every term of `text`, in order, and with how often it counts there.
    pub fn weigh(&self, text: &str, each: &mut dyn FnMut(&str, u32)) {
        self.chain.weigh(text, each);
    }

    /// The terms of `text`, in order.
    #[must_use]
    pub fn analyze(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.tokenize(text, &mut |term| terms.push(term.to_owned()));
        terms
    }
}
