//! How errors reach the user: what was wrong, then `hint:` and what to do.

use std::io::{self, Write};
use std::process::ExitCode;

use toller_bench::BenchError;
use toller_checkpoint::convert::ConvertError;
use toller_corpus::{CorpusError, RunWriteError};
use toller_datasets::DatasetError;
use toller_encoder::EncoderError;
use toller_eval::{CompareError, EvalError};
use toller_exchange::ExchangeError;
use toller_files::FileError;
use toller_hub::ResolveError;
use toller_index::IndexError;
use toller_ir::SearchError;
use toller_pipeline::fusion::FusionError;
use toller_pipeline::rerank::RerankError;
use toller_pipeline::tune::TuneError;
use toller_pipeline::{AnalyzerError, PipelineError};
use toller_plot::PlotError;
use toller_recipe::RecipeError;
use toller_sparse::SparseError;
use toller_store::StoreError;
use toller_texts::TextsError;

use crate::interrupt::{self, Interrupted};

/// Something that was asked for in a way that cannot be done: exit status 2, like any wrong usage.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct UsageError {
    /// What is wrong.
    pub message: String,
    /// What to do instead.
    pub hint: String,
}

impl UsageError {
    /// `message` and the remedy.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// A failure that a command found out itself, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Remedied {
    message: String,
    hint: String,
}

impl Remedied {
    /// `message` and the remedy.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    fn hint(&self) -> Option<String> {
        Some(self.hint.clone())
    }
}

/// A search that failed, with the searcher's own error, and its hint, inside.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SearchFailed(#[source] pub SearchError);

/// An error of a file whose format is named by another flag than `--format`.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct OtherFormatFlag {
    error: CorpusError,
    flag: &'static str,
}

impl OtherFormatFlag {
    /// For `map_err`: the flag that names the format.
    pub fn is(flag: &'static str) -> impl FnOnce(CorpusError) -> Self {
        move |error| Self { error, flag }
    }

    fn hint(&self) -> Option<String> {
        self.error.hint().map(|hint| hint.replace("--format", self.flag))
    }
}

/// Prints an error with its causes and its hint, and chooses the exit status.
pub fn report(error: anyhow::Error) -> ExitCode {
    if is_closed_pipe(&error) {
        // The reader of stdout has seen enough, as `head` does.
        return ExitCode::SUCCESS;
    }
    let error = naming_stdout(error);
    let mut stderr = io::stderr().lock();
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        let _ = writeln!(stderr, "{interrupted}");
        return ExitCode::from(interrupt::STATUS);
    }
    let _ = writeln!(stderr, "error: {}", message(&error));
    if let Some(hint) = error.chain().find_map(hint) {
        let _ = writeln!(stderr, "hint: {hint}");
    }
    if error.downcast_ref::<UsageError>().is_some() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

/// Every I/O error names its file; one that has no name comes from writing data to stdout.
fn naming_stdout(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<io::Error>() {
        Ok(source) => FileError::new("write", "standard output", source).into(),
        Err(error) => error,
    }
}

/// The error and its causes, each said once: some errors already say their source.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// The remedy of an error, if it is one of ours and knows one.
fn hint(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    macro_rules! first_hint {
        ($($error_type:ty),*) => {
            $(if let Some(error) = error.downcast_ref::<$error_type>() {
                return error.hint();
            })*
        };
    }
    first_hint!(
        PipelineError,
        AnalyzerError,
        CorpusError,
        OtherFormatFlag,
        RunWriteError,
        ConvertError,
        EncoderError,
        ResolveError,
        StoreError,
        SparseError,
        IndexError,
        FusionError,
        TuneError,
        RecipeError,
        RerankError,
        TextsError,
        EvalError,
        CompareError,
        DatasetError,
        ExchangeError,
        Remedied,
        FileError,
        BenchError,
        PlotError
    );
    error.downcast_ref::<UsageError>().map(|error| error.hint.clone())
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
