//! Errors as Python sees them: the message, and the remedy in Python's words.

use std::error::Error;
use std::io;
use std::iter;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use toller_encoder::NotJoined;
use toller_engine::{BackendError, EngineError};
use toller_eval::{CompareError, MeasureError};
use toller_hub::ResolveError;
use toller_index::IndexError;
use toller_ir::{Command, ErrorPlace, Explain, Remedy, RequestError, Setting, Term, UnknownName};
use toller_mining::{MiningError, MissingText};
use toller_pipeline::fusion::FusionError;
use toller_store::StoreError;
use toller_topk::IpTopkError;
use toller_train::TrainError;

/// The class of an exception, by its name in `toller.errors`.
#[derive(Clone, Copy, Debug)]
enum Class {
    Error,
    InvalidArgument,
    NotFound,
    Internal,
}

/// Why work failed, before it is a Python exception.
#[derive(Debug)]
pub(crate) struct Failed {
    class: Class,
    message: String,
    hint: Option<String>,
    place: Option<ErrorPlace>,
}

impl Failed {
    /// An error without a class of its own.
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self { class: Class::Error, message: message.into(), hint: None, place: None }
    }

    /// An argument that cannot be used.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { class: Class::InvalidArgument, ..Self::other(message) }
    }

    /// A defect of this package.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let hint = "this is a defect of toller: please report it with the messages on stderr";
        Self { class: Class::Internal, ..Self::other(message) }.hint(hint)
    }

    /// The same with a remedy.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// An error of a library.
    pub(crate) fn of(error: &(dyn Explain + 'static)) -> Self {
        let hint = error.remedy().as_ref().map(in_python);
        let error_place = error.place();
        let error: &(dyn Error + 'static) = error;
        // In the words of Python, in place of its own.
        let problem = match of_training(error) {
            Some(TrainError::Options { problem, .. }) => Some(in_python(problem)),
            _ => None,
        };
        let causes = iter::successors(Some(error), |&error| error.source());
        let causes = causes.skip(usize::from(problem.is_some()));
        let mut message = problem.unwrap_or_default();
        for cause in causes {
            let cause = cause.to_string();
            // The text of some errors includes their source.
            match message.is_empty() {
                true => message = cause,
                false if message.contains(&cause) => {}
                false => message = format!("{message}: {cause}"),
            }
        }
        Self { class: class_of(error), message, hint, place: error_place }
    }
}

impl<E: Explain + Send + Sync + 'static> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::of(&error)
    }
}

/// The error as one of training, if it is one.
fn of_training<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TrainError> {
    match error.downcast_ref() {
        Some(EngineError::Train(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

/// The class of an error, by its type or by what the system said.
fn class_of(error: &(dyn Error + 'static)) -> Class {
    let is_missing = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    if iter::successors(Some(error), |&error| error.source()).any(is_missing) {
        return Class::NotFound;
    }
    match error.downcast_ref::<EngineError>() {
        Some(EngineError::NoHub(_) | EngineError::Resolve(ResolveError::NotFound { .. })) => Class::NotFound,
        Some(EngineError::Store(error)) => of_store(error),
        Some(
            EngineError::Analyzer(_)
            | EngineError::Device { .. }
            | EngineError::Fusion(_)
            | EngineError::Role { .. }
            | EngineError::TooManyThreads { .. },
        ) => Class::InvalidArgument,
        Some(EngineError::Index(_)) => Class::InvalidArgument,
        Some(EngineError::Backend(BackendError::Open { .. })) => Class::Error,
        Some(EngineError::Backend(_)) => Class::InvalidArgument,
        Some(EngineError::Train(_)) if is_argument(error) => Class::InvalidArgument,
        Some(_) => Class::Error,
        None if is_argument(error) => Class::InvalidArgument,
        None => error.downcast_ref::<StoreError>().map_or(Class::Error, of_store),
    }
}

fn of_store(error: &StoreError) -> Class {
    match error {
        StoreError::NotFinite { .. } | StoreError::WrongDim { .. } | StoreError::InvalidSpec { .. } => {
            Class::InvalidArgument
        }
        _ => Class::Error,
    }
}

fn is_argument(error: &(dyn Error + 'static)) -> bool {
    error.is::<RequestError>()
        || error.is::<IpTopkError>()
        || error.is::<IndexError>()
        || error.is::<MeasureError>()
        || error.is::<CompareError>()
        || error.is::<FusionError>()
        || error.is::<MiningError>()
        || error.is::<MissingText>()
        || error.is::<NotJoined>()
        || error.is::<UnknownName>()
        || of_training(error).is_some_and(|error| {
            matches!(
                error,
                TrainError::Options { .. }
                    | TrainError::OutOfRange { .. }
                    | TrainError::NoEffect { .. }
                    | TrainError::Pooling(_)
            )
        })
}

/// A remedy in Python's words: parameters for settings, functions for commands.
pub(crate) fn in_python(remedy: &Remedy) -> String {
    remedy.render(|term| {
        let Term { command, setting, value } = term;
        let Some(command) = command else {
            return match (setting, value) {
                (Some(setting), Some(value)) => assignment(*setting, value),
                (Some(setting), None) => parameter(*setting).to_owned(),
                (None, value) => value.as_deref().unwrap_or_default().to_owned(),
            };
        };
        // Impacts are indexed on the command line.
        let of_impacts = matches!(setting, Some(Setting::Impact | Setting::Vectors));
        let Some(function) = function(*command).filter(|_| !of_impacts) else {
            return command_line(*command, *setting, value.as_deref());
        };
        let argument = setting.map(|setting| match (setting, value.as_deref()) {
            (setting, Some(value)) => assignment(setting, value),
            (Setting::Output, None) => "output=...".to_owned(),
            (setting, None) => assignment(setting, "True"),
        });
        format!("{function}({})", argument.unwrap_or_else(|| "...".to_owned()))
    })
}

/// The parameter of a setting.
fn parameter(setting: Setting) -> &'static str {
    match setting {
        Setting::DevCorpus => "the DevSet's corpus",
        Setting::DevDepth => "the DevSet's depth",
        Setting::DevRun => "the DevSet's run",
        Setting::Dim => "truncate_dim",
        other => other.name(),
    }
}

/// A keyword argument.
fn assignment(setting: Setting, value: &str) -> String {
    if setting == Setting::Shard {
        return format!("shard=({})", value.replace('/', ", "));
    }
    // Here it is a part of the other.
    if setting == Setting::Keep {
        return assignment(Setting::SkipBadLines, "True");
    }
    // In capitals, the value stands for one of the user's.
    if value.chars().all(|c| c.is_ascii_uppercase()) {
        return parameter(setting).to_owned();
    }
    let is_bare = value.parse::<f64>().is_ok() || value == "True";
    match is_bare {
        true => format!("{}={value}", parameter(setting)),
        false => format!("{}={value:?}", parameter(setting)),
    }
}

/// The function that does what a command does.
fn function(command: Command) -> Option<&'static str> {
    match command {
        Command::Encode => Some("toller.encode"),
        Command::Index => Some("toller.index"),
        Command::Eval => Some("toller.evaluate"),
        Command::Convert | Command::Doctor | Command::Merge | Command::Pull | Command::Quantize => None,
    }
}

/// A command that is not a function: its command line, which comes with the package.
fn command_line(command: Command, setting: Option<Setting>, value: Option<&str>) -> String {
    let store = if matches!(command, Command::Pull | Command::Quantize) { "store " } else { "" };
    let flag = setting.map(|setting| format!("--{}", setting.name().replace('_', "-")));
    let words = [Some(format!("toller {store}{}", command.name())), flag, value.map(str::to_owned)];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

impl From<Failed> for PyErr {
    fn from(failed: Failed) -> Self {
        Python::attach(|py| exception(py, failed).unwrap_or_else(|error| error))
    }
}

/// The exception: an instance of a class of `toller.errors`.
fn exception(py: Python<'_>, failed: Failed) -> PyResult<PyErr> {
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let errors = ERRORS.get_or_try_init(py, || py.import("toller.errors").map(Bound::unbind))?.bind(py);
    let class = errors.getattr(match failed.class {
        Class::Error => "Error",
        Class::InvalidArgument => "InvalidArgument",
        Class::NotFound => "NotFound",
        Class::Internal => "InternalError",
    })?;
    let raised = class.call1((failed.message,))?;
    raised.setattr("hint", failed.hint)?;
    let position = failed.place.as_ref().and_then(|place| place.position);
    raised.setattr("file", failed.place.as_ref().map(|place| place.file.as_str()))?;
    raised.setattr("line", position.map(toller_ir::Position::number))?;
    Ok(PyErr::from_value(raised))
}
