//! Analyzers by name, those of models included.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use toller_analysis::{AnalysisError, Analyzer, Tokenize};
use toller_encoder::{EncoderError, TextTokenizer};
use toller_hub::{ResolveError, ResolveOptions, resolve_model};
use toller_ir::{Explain, Remedy};

/// Before the name of a model whose tokens are the terms.
const WORD_PIECE: &str = "wordpiece:";

/// An analyzer that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalyzerError {
    /// No analyzer has the name.
    #[error(transparent)]
    Name(#[from] AnalysisError),
    /// The model cannot be found.
    #[error(transparent)]
    Model(#[from] ResolveError),
    /// Its tokenizer cannot be used.
    #[error(transparent)]
    Tokenizer(#[from] EncoderError),
}

impl Explain for AnalyzerError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Name(error) => Some(error.remedy()?.and(format!(", {WORD_PIECE}MODEL"))),
            Self::Model(error) => error.remedy(),
            Self::Tokenizer(error) => error.remedy(),
        }
    }
}

/// The analyzer of a name that [`Analyzer::by_name`] knows, or of `wordpiece:MODEL`: the tokens of a model, which is named as
/// anywhere else (a directory, a name or id that is downloaded).
///
/// # Errors
/// A name that nothing has; a model that cannot be found, or whose tokenizer is not BERT's.
pub fn analyzer_by_name(name: &str) -> Result<Analyzer, AnalyzerError> {
    let Some(model) = name.strip_prefix(WORD_PIECE) else { return Ok(Analyzer::by_name(name)?) };
    let model = resolve_model(model, &ResolveOptions::from_env(), &mut |_| ControlFlow::Continue(()))?;
    Ok(Analyzer::custom(name, Arc::new(WordPieces::load(&model.directory)?)))
}

/// Tokens of a model as terms.
struct WordPieces(TextTokenizer);

impl WordPieces {
    /// Loads the tokenizer, and tries whether it works.
    fn load(directory: &Path) -> Result<Self, EncoderError> {
        let tokenizer = TextTokenizer::load(directory)?;
        tokenizer.tokenize("a \u{10FFFF}\u{301}", &mut |_| {})?;
        Ok(Self(tokenizer))
    }
}

impl Tokenize for WordPieces {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        // The one error there could be, a token for unknown words that is missing, has been ruled out by `load`.
        let _ = self.0.tokenize(text, each);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_tokens_of_a_model_are_terms() {
        let model = toller_testing::repository("tests/fixtures/cross-encoders/bert");
        let name = format!("wordpiece:{}", model.display());
        let analyzer = analyzer_by_name(&name).unwrap();
        assert_eq!(analyzer.name(), name);
        let terms = analyzer.analyze("Transformers, unaffable!");
        assert!(terms.iter().all(|term| !term.is_empty() && !matches!(term.as_str(), "[CLS]" | "[SEP]")));
        let whole = terms.iter().map(|term| term.strip_prefix("##").unwrap_or(term)).collect::<String>();
        assert!(terms.contains(&"[UNK]".to_owned()) || whole == "transformers,unaffable!", "{terms:?}");
        assert!(analyzer.analyze("").is_empty());
    }

    #[test]
    fn errors_say_which_analyzers_there_are() {
        let error = analyzer_by_name("klingon").err().unwrap();
        assert!(error.to_string().contains("klingon"));
        assert!(error.remedy().unwrap().to_string().contains("wordpiece:MODEL"));
        assert!(analyzer_by_name("wordpiece:./no/such/model").is_err());
    }
}
