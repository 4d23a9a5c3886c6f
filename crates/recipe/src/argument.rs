//! An argument of a step's command, in which each path says what it is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// An option or positional argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The option, as recipes name it.
    pub option: String,
    /// Whether it is given without its name.
    pub positional: bool,
    /// What it is given; nothing for a flag.
    pub pieces: Vec<Piece>,
    /// The line of the recipe.
    pub line: usize,
}

/// A value of an argument. Relative paths, except those of inputs, start at the folder of the outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A value that is not a path.
    Text(String),
    /// A file or directory that no step writes.
    Input(PathBuf),
    /// What another step writes, or something inside of it.
    Upstream(PathBuf),
    /// What this step writes.
    Output(PathBuf),
    /// A directory whose content changes no result.
    Cache(PathBuf),
    /// A model's name, or its directory as the recipe has it.
    Model {
        /// What comes before it on the command line.
        after: &'static str,
        /// The name or directory.
        name: String,
    },
    /// A value in a report that another step writes.
    Reported {
        /// The report.
        report: PathBuf,
        /// Where in it (RFC 6901).
        pointer: String,
    },
}

impl Piece {
    /// The piece on the command line. `folder` is the folder of the outputs, `reported` the value that is
    /// looked up in a report.
    #[must_use]
    pub(super) fn on_command_line(&self, folder: &Path, reported: &str) -> OsString {
        match self {
            Self::Text(text) => text.into(),
            Self::Model { after, name } => format!("{after}{name}").into(),
            Self::Input(path) => path.into(),
            Self::Upstream(path) | Self::Output(path) | Self::Cache(path) => folder.join(path).into(),
            Self::Reported { .. } => reported.into(),
        }
    }
}

/// The arguments of a command line: `command`, options as `--name=value`, then the positional ones.
pub(super) fn command_line<E>(
    command: &str,
    arguments: &[Argument],
    mut piece: impl FnMut(&Argument, &Piece) -> Result<OsString, E>,
) -> Result<Vec<OsString>, E> {
    let mut line: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
    let (positional, options): (Vec<_>, Vec<_>) = arguments.iter().partition(|argument| argument.positional);
    for argument in options {
        let flag = format!("--{}", argument.option);
        if argument.pieces.is_empty() {
            line.push(flag.into());
            continue;
        }
        for value in &argument.pieces {
            let mut with_value = OsString::from(format!("{flag}="));
            with_value.push::<&OsStr>(&piece(argument, value)?);
            line.push(with_value);
        }
    }
    if !positional.is_empty() {
        line.push("--".into());
    }
    for argument in positional {
        for value in &argument.pieces {
            line.push(piece(argument, value)?);
        }
    }
    Ok(line)
}
