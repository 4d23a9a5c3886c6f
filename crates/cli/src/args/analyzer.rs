//! The flags that choose an analyzer.

use toller_analysis::Analyzer;
use toller_engine::{Engine, EngineError};

use crate::args::paths::AnalyzerName;
use crate::error::UsageError;

/// Flags of the commands that turn texts into terms.
#[derive(Debug, clap::Args)]
pub struct AnalyzerArgs {
    #[arg(long, value_name = "CODE", help = language_help(), conflicts_with = "analyzer")]
    language: Option<String>,

    /// Analyzer, instead of a language's: whitespace, standard, jieba, telugu, wordpiece:MODEL
    #[arg(long, value_name = "NAME")]
    analyzer: Option<AnalyzerName>,
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
    /// The analyzer. An unknown name is wrong usage.
    pub fn load(&self, engine: &Engine) -> crate::Result<Analyzer> {
        let (flag, name) = match (&self.analyzer, &self.language) {
            (Some(name), _) => ("--analyzer", &**name),
            (None, Some(language)) => ("--language", language.as_str()),
            (None, None) => {
                return Err(UsageError::new(
                    "the language of the texts is not given",
                    "give --language en, for example, or --analyzer standard for a language without an \
                     analyzer of its own",
                )
                .into());
            }
        };
        engine.analyzer(name).map_err(|error| match error {
            EngineError::Analyzer(error) => UsageError::of_flag(flag, &error).into(),
            error => error.into(),
        })
    }
}
