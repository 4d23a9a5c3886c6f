//! Analyzers by name, those of models included.

use std::path::{Path, absolute};
use std::sync::Arc;

use toller_analysis::{AnalysisError, Analyzer, Tokenize};
use toller_encoder::{EncoderError, TextTokenizer};
use toller_hub::{ModelSource, Origin, ResolveError};
use toller_ir::{Explain, Remedy, Setting, remedy};

use crate::{Engine, EngineError};

/// The prefix of the name of a model whose tokens are the terms.
pub const WORD_PIECE: &str = "wordpiece:";

impl Engine {
    /// The analyzer of a name that [`Analyzer::by_name`] knows, or of `wordpiece:MODEL`: the tokens of a
    /// model, which is named as for [`Engine::resolve`]. The analyzer's own name has the absolute path of a
    /// model that is a directory, for an index is searched from elsewhere.
    ///
    /// # Errors
    /// A name that no analyzer has; a model that cannot be found, or whose tokenizer is not BERT's.
    pub fn analyzer(&self, name: &str) -> Result<Analyzer, EngineError> {
        analyzer(name, |model| self.resolve(model))
    }

    /// The analyzer that an index names. Its model is not downloaded: the index may come from anyone.
    pub(crate) fn analyzer_here(&self, name: &str) -> Result<Analyzer, EngineError> {
        if name == Analyzer::IMPACT {
            return Ok(Analyzer::impact());
        }
        analyzer(name, |model| {
            self.resolve_here(model).map_err(|error| match error {
                EngineError::Resolve(source @ ResolveError::NotFound { .. }) => {
                    EngineError::AnalyzerModel { analyzer: name.to_owned(), source }
                }
                error => error,
            })
        })
    }
}

/// Checks that an analyzer has this name. Its model may be missing.
///
/// # Errors
/// An unknown name; the remedy lists the known ones.
pub fn check_analyzer(name: &str) -> Result<(), AnalyzerError> {
    if name.starts_with(WORD_PIECE) || Analyzer::names().any(|known| known == name) {
        return Ok(());
    }
    Err(AnalyzerError(AnalysisError::UnknownName { name: name.to_owned() }))
}

/// The analyzer of this name; `resolve` finds a model.
fn analyzer(
    name: &str,
    resolve: impl FnOnce(&str) -> Result<ModelSource, EngineError>,
) -> Result<Analyzer, EngineError> {
    let Some(model) = name.strip_prefix(WORD_PIECE) else {
        return Analyzer::by_name(name).map_err(|source| EngineError::Analyzer(AnalyzerError(source)));
    };
    let ModelSource { directory, origin, .. } = resolve(model)?;
    let pieces = Arc::new(WordPieces::load(&directory)?);
    Ok(match origin {
        Origin::Directory => {
            let place = absolute(&directory).unwrap_or(directory);
            Analyzer::custom(&format!("{WORD_PIECE}{}", place.display()), pieces)
        }
        Origin::Known(_) | Origin::Hub { .. } => Analyzer::custom(name, pieces),
    })
}

/// A name that no analyzer has.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct AnalyzerError(AnalysisError);

impl Explain for AnalyzerError {
    fn remedy(&self) -> Option<Remedy> {
        let other = Setting::Analyzer.to("standard");
        let names = self.0.remedy()?.and(format!(", {WORD_PIECE}MODEL"));
        Some(names.then(remedy!("; for a language that is not among them, use {}", other)))
    }
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
        // `load` has ruled out the only possible error: a missing token for unknown words.
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
        let engine = Engine::builder().build().unwrap();
        let analyzer = engine.analyzer(&name).unwrap();
        assert_eq!(analyzer.name(), name);
        let terms = analyzer.analyze("Transformers, unaffable!");
        assert!(terms.iter().all(|term| !term.is_empty() && !matches!(term.as_str(), "[CLS]" | "[SEP]")));
        let whole = terms.iter().map(|term| term.strip_prefix("##").unwrap_or(term)).collect::<String>();
        assert!(terms.contains(&"[UNK]".to_owned()) || whole == "transformers,unaffable!", "{terms:?}");
        assert!(analyzer.analyze("").is_empty());
    }

    #[test]
    fn errors_say_which_analyzers_there_are() {
        let engine = Engine::builder().build().unwrap();
        let Err(EngineError::Analyzer(error)) = engine.analyzer("klingon") else {
            panic!("klingon is known")
        };
        assert!(error.to_string().contains("klingon"));
        assert!(error.remedy().unwrap().to_string().contains("wordpiece:MODEL"));
        let error = engine.analyzer("wordpiece:./no/such/model").err().unwrap();
        assert!(matches!(error, EngineError::NoHub(_)));
    }
}
