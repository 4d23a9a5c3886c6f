//! The flags that choose an analyzer.

use toller_analysis::Analyzer;
use toller_engine::Engine;

use crate::args::paths::{AnalyzerName, known_analyzer};
use crate::error::UsageError;

/// Flags of the commands that turn texts into terms.
#[derive(Debug, clap::Args)]
pub struct AnalyzerArgs {
    #[arg(long, value_name = "CODE", help = language_help(), value_parser = language, conflicts_with = "analyzer")]
    language: Option<String>,

    /// Analyzer, instead of a language's: whitespace, standard, jieba, telugu, wordpiece:MODEL
    #[arg(long, value_name = "NAME")]
    analyzer: Option<AnalyzerName>,
}

fn language(code: &str) -> Result<String, UsageError> {
    known_analyzer(code).map(|()| code.to_owned())
}

/// With all languages: analyzers whose names are codes of two letters.
fn language_help() -> String {
    let languages: Vec<&str> = Analyzer::names().filter(|name| name.len() == 2).collect();
    format!("Language of the texts, as an ISO 639-1 code; selects its analyzer: {}", languages.join(", "))
}

/// The flag of the commands that search an inverted index.
#[derive(Debug, clap::Args)]
pub struct IndexAnalyzerArgs {
    /// The index's analyzer, where its model has another place now: wordpiece:MODEL
    #[arg(long, value_name = "NAME")]
    pub analyzer: Option<AnalyzerName>,
}

impl AnalyzerArgs {
    /// The analyzer.
    pub fn load(&self, engine: &Engine) -> crate::Result<Analyzer> {
        Ok(engine.analyzer(self.name()?)?)
    }

    /// Refuses to guess the language.
    pub fn check(&self) -> Result<(), UsageError> {
        self.name().map(|_| ())
    }

    fn name(&self) -> Result<&str, UsageError> {
        let missing = || {
            UsageError::new(
                "the language of the texts is not given",
                "give --language en, for example, or --analyzer standard for a language without an \
                 analyzer of its own",
            )
        };
        self.analyzer.as_deref().or(self.language.as_deref()).ok_or_else(missing)
    }
}
