//! How errors reach the user: the cause, then `hint:` and the remedy.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{fmt, iter};

use toller_engine::EngineError;
use toller_hub::ResolveError;
use toller_ir::{AnyError, ErrorPlace, Explain, Position, Remedy, Setting};

use crate::flags;
use crate::interrupt::{self, Interrupted};
use crate::json::{JsonError, Kind};
use crate::printable::printable;
use crate::stdout;

/// What a command returns.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error that a command finds itself, with its exit status.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal<const STATUS: u8> {
    message: String,
    remedy: Option<Remedy>,
    place: Option<ErrorPlace>,
}

/// A request that cannot be met as asked: exit status 2, like any wrong usage.
pub type UsageError = Refusal<2>;

/// A failure that a command finds itself.
pub type Remedied = Refusal<1>;

impl<const STATUS: u8> Refusal<STATUS> {
    /// `message` and the remedy.
    pub fn new(message: impl Into<String>, remedy: impl Into<Remedy>) -> Self {
        Self { message: message.into(), remedy: Some(remedy.into()), place: None }
    }

    /// An error of a library.
    pub fn of(error: &dyn Explain) -> Self {
        Self { message: error.to_string(), remedy: error.remedy(), place: error.place() }
    }

    /// An error of a library that the value of a flag caused.
    pub fn of_flag(flag: impl fmt::Display, error: &dyn Explain) -> Self {
        Self { message: format!("{flag}: {error}"), ..Self::of(error) }
    }

    /// With another message.
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// With another remedy.
    pub fn with_remedy(self, remedy: impl Into<Remedy>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// At a line of a file, counted from one.
    pub fn at_line(self, file: impl fmt::Display, line: usize) -> Self {
        let position = Some(Position::Line(line as u64));
        Self { place: Some(ErrorPlace { file: file.to_string(), position }), ..self }
    }

    /// In a file as a whole.
    pub fn at_file(self, file: impl fmt::Display) -> Self {
        Self { place: Some(ErrorPlace { file: file.to_string(), position: None }), ..self }
    }

    /// Only `message`, if no remedy is known.
    pub fn without_remedy(message: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: None, place: None }
    }
}

impl<const STATUS: u8> Explain for Refusal<STATUS> {
    fn remedy(&self) -> Option<Remedy> {
        self.remedy.clone()
    }

    fn place(&self) -> Option<ErrorPlace> {
        self.place.clone()
    }
}

/// Why a command failed. Any error becomes one by `?`, if it can say its remedy.
#[derive(Debug)]
pub struct Failure {
    error: AnyError,
    /// What was being done, the widest first.
    context: Vec<String>,
    /// Settings whose flags have other names in this command.
    renamed: Vec<(Setting, &'static str)>,
    /// The file that was written, if it is not stdout.
    output: Option<PathBuf>,
    /// The flags that the command has, once they are known.
    flags: Option<BTreeSet<String>>,
}

impl<E: Into<AnyError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { error: error.into(), context: Vec::new(), renamed: Vec::new(), output: None, flags: None }
    }
}

impl Failure {
    /// Says what was being done.
    pub fn during(mut self, doing: impl fmt::Display) -> Self {
        self.context.insert(0, doing.to_string());
        self
    }

    /// Says which file was written.
    pub fn while_writing(mut self, path: &Path) -> Self {
        self.output.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Says which command failed, so that no hint names a flag that it does not have. Of a step of a recipe,
    /// the step's command is known first.
    pub fn of_command(self, command: &clap::Command) -> Self {
        let flags = self.flags.unwrap_or_else(|| flags::of_command(command));
        Self { flags: Some(flags), ..self }
    }

    /// How to go on, if the user stopped the work.
    fn interruption(&self) -> Option<String> {
        let of_engine = self.downcast_ref::<EngineError>();
        let is_download = matches!(of_engine, Some(EngineError::Resolve(ResolveError::Interrupted)));
        let resume =
            || Interrupted { resume: "run the same command again: what was downloaded is kept".to_owned() };
        let interrupted = self.downcast_ref::<Interrupted>().map(ToString::to_string);
        interrupted.or_else(|| is_download.then(|| resume().to_string()))
    }

    /// The error, if it is a `T`.
    pub fn downcast_ref<T: Error + 'static>(&self) -> Option<&T> {
        self.chain().next().and_then(|error| error.downcast_ref())
    }

    /// The error and its causes.
    fn chain(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let error: &(dyn Error + 'static) = &*self.error;
        iter::successors(Some(error), |&error| error.source())
    }

    /// The context, the error and its causes, each once: the text of some errors includes their source.
    fn message(&self) -> String {
        let mut message = String::new();
        // Every I/O error names its file; one that has no name comes from writing data to stdout.
        let unnamed = self.downcast_ref::<io::Error>().map(|_| match &self.output {
            Some(path) => format!("cannot write {}", path.display()),
            None => format!("cannot write {}", stdout::NAME),
        });
        let causes = self.context.iter().cloned().chain(unnamed).chain(self.chain().map(ToString::to_string));
        for cause in causes {
            if message.is_empty() {
                message = cause;
            } else if !message.contains(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        message
    }

    fn hint(&self) -> Option<String> {
        let named = |setting| {
            let renamed = self.renamed.iter().find(|(other, _)| *other == setting);
            renamed.map_or_else(|| flags::flag(setting), |(_, flag)| (*flag).to_owned())
        };
        let remedy = self.error.remedy()?;
        let is_there = |setting| self.flags.as_ref().is_none_or(|flags| flags.contains(&named(setting)));
        let own = || remedy.terms().filter(|term| term.command.is_none()).filter_map(|term| term.setting);
        if own().all(is_there) {
            return Some(flags::spelled(&remedy, named));
        }
        let of_format =
            "the format is detected from the content and the name; docs/formats.md shows the formats";
        own().any(|setting| setting == Setting::Format).then(|| of_format.to_owned())
    }

    /// The place of the error, or the file that could not be written.
    fn place(&self) -> Option<ErrorPlace> {
        let output = || self.downcast_ref::<io::Error>().and(self.output.as_deref()).map(ErrorPlace::of_file);
        self.error.place().or_else(output)
    }

    /// What ended the command.
    fn kind(&self) -> Kind {
        if self.interruption().is_some() {
            Kind::Interrupted
        } else if self.downcast_ref::<UsageError>().is_some() {
            Kind::Usage
        } else {
            Kind::Failure
        }
    }

    /// Whether the reader of stdout has seen enough, as `head` does. A result that goes to a pipe with a name
    /// is lost when that pipe is closed.
    fn is_closed_pipe(&self) -> bool {
        let is_of_stdout = match self.place() {
            Some(place) => {
                [stdout::NAME, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(&place.file.as_str())
            }
            None => self.downcast_ref::<io::Error>().is_some(),
        };
        let mut io_errors = self.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
        is_of_stdout && io_errors.any(is_closed_pipe)
    }
}

fn is_closed_pipe(error: &io::Error) -> bool {
    // The crate csv hides the error of its output.
    let of_csv = error.get_ref().and_then(|inner| inner.downcast_ref::<csv::Error>());
    match of_csv.map(csv::Error::kind) {
        Some(csv::ErrorKind::Io(error)) => error.kind() == io::ErrorKind::BrokenPipe,
        _ => error.kind() == io::ErrorKind::BrokenPipe,
    }
}

/// Says more about a failure on its way up.
pub trait Context<T> {
    /// Says what was being done.
    fn context(self, doing: impl fmt::Display) -> Result<T>;

    /// Names the flag of a setting, if it is not the usual one.
    fn with_flag(self, setting: Setting, flag: &'static str) -> Result<T>;
}

impl<T, E: Into<Failure>> Context<T> for Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| error.into().during(doing))
    }

    fn with_flag(self, setting: Setting, flag: &'static str) -> Result<T> {
        self.map_err(|error| {
            let mut failure: Failure = error.into();
            // The first name is that of the narrower place.
            failure.renamed.push((setting, flag));
            failure
        })
    }
}

/// The error of a writer of CSV, with the kind that the system gave it.
pub fn of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Prints a failure with its causes and its hint, or as JSON. There is no place to report that stderr is
/// closed.
pub fn print(failure: &Failure, json: bool) {
    let interruption = failure.interruption();
    let message = interruption.clone().unwrap_or_else(|| failure.message());
    let hint = failure.hint();
    let mut stderr = io::stderr().lock();
    if json {
        let (kind, place) = (failure.kind(), failure.place());
        let error = JsonError { kind, message: &message, hint: hint.as_deref(), place: place.as_ref() };
        let _ = writeln!(stderr, "{}", error.line());
        return;
    }
    let error = if interruption.is_some() { "" } else { "error: " };
    let _ = writeln!(stderr, "{error}{}", printable(&message));
    if let Some(hint) = hint {
        let _ = writeln!(stderr, "hint: {}", printable(&hint));
    }
}

/// Prints a failure, and chooses the exit status.
pub fn report(failure: &Failure, json: bool) -> u8 {
    if failure.is_closed_pipe() {
        return 0;
    }
    print(failure, json);
    match failure.kind() {
        Kind::Interrupted => interrupt::STATUS,
        Kind::Usage => 2,
        Kind::Failure => 1,
    }
}
