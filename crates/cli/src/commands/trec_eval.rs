//! `toller eval --trec-eval`: trec_eval's arguments in, trec_eval's output out.

use std::io::{Read, Write};
use std::path::Path;

use toller_corpus::{CorpusError, QrelsFormat, ReadOptions, RunFormat, read_qrels, read_run};
use toller_eval::trec_eval::{
    Arguments, JudgmentFormat, JudgmentGroups, Judgments, Preferences, Request, TrecEvalError, ZScores, write,
};
use toller_files::{Input, InputReader};

use crate::error::{Context, Failure, Remedied, UsageError};
use crate::ui::Ui;

/// Prints what trec_eval prints for these arguments.
pub fn run(arguments: &[String], ui: &Ui) -> crate::Result<()> {
    let arguments = Arguments::parse(arguments).map_err(|error| UsageError::of(&error))?;
    let request = Request::new(&arguments).map_err(|error| UsageError::of(&error))?;
    let run_options = ReadOptions { format: Some(RunFormat::Trec), ..ReadOptions::default() };
    let input = |path: &str| Input::parse(Path::new(path));
    let (run, _) = read_run(&input(&arguments.run), &run_options).map_err(of_file)?;
    let z_scores = arguments.z_scores.as_deref().map(|file| parsed(file, ZScores::parse)).transpose()?;
    let mut out = ui.out();
    let mut print = |judgments| -> crate::Result<()> {
        match write(&arguments, &request, judgments, &run, z_scores.as_ref(), &mut out) {
            // The error of stdout, not of the run.
            Err(TrecEvalError::Io(error)) => Err(error.into()),
            written => written.context(format!("cannot evaluate {}", arguments.run)),
        }
    };
    match arguments.format {
        JudgmentFormat::Qrels => {
            let options = ReadOptions { format: Some(QrelsFormat::Trec), ..ReadOptions::default() };
            let (qrels, _) = read_qrels(&input(&arguments.qrels), &options).map_err(of_file)?;
            print(Judgments::Qrels(&qrels))?;
        }
        JudgmentFormat::QrelsGroups => {
            let groups = parsed(&arguments.qrels, JudgmentGroups::parse)?;
            print(Judgments::Groups(&groups))?;
        }
        JudgmentFormat::Preferences => {
            print(Judgments::Preferences(&parsed(&arguments.qrels, Preferences::parse)?))?;
        }
        JudgmentFormat::QrelsPreferences => {
            print(Judgments::Preferences(&parsed(&arguments.qrels, Preferences::parse_qrels)?))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// trec_eval has no arguments for other formats, nor to skip lines.
fn of_file(error: CorpusError) -> Failure {
    match error {
        CorpusError::Bad(_) | CorpusError::Broken { .. } => Remedied::of(&error)
            .with_remedy(
                "correct the line; `toller eval --qrels` reads more formats, and can skip such lines",
            )
            .into(),
        error => error.into(),
    }
}

/// What `parse` makes of a file's text.
fn parsed<T>(file: &str, parse: impl Fn(&str) -> Result<T, TrecEvalError>) -> crate::Result<T> {
    let mut reader = InputReader::open(&Input::parse(Path::new(file)))?;
    let mut text = String::new();
    reader.read_to_string(&mut text).map_err(|error| reader.error(error))?;
    parse(&text).context(file)
}
