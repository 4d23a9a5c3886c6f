//! The commands, as far as a recipe has to know them.

use std::ffi::OsString;

/// The commands that steps may name.
pub trait Catalogue {
    /// The command of this name, as in "search" or "tune bm25".
    fn command(&self, name: &str) -> Option<CommandSpec>;

    /// The names of all commands that can be steps.
    fn names(&self) -> Vec<String>;

    /// Whether this is a command that is never a step.
    fn is_no_step(&self, _name: &str) -> bool {
        false
    }

    /// Whether the command takes these arguments, its name first.
    ///
    /// # Errors
    /// The message of the command.
    fn check(&self, arguments: &[OsString]) -> Result<(), BadArguments>;
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// Its options and positional arguments.
    pub options: Vec<OptionSpec>,
    /// Whether the command resumes an unfinished or damaged output, which is then left in place.
    pub resumes: bool,
    /// Whether the command takes an output that is there for its own if it is the one that it would make.
    pub adopts: bool,
    /// Whether people fill in what the command writes with the format "csv".
    pub makes_sheets: bool,
    /// Files that the command reads without being given their names: paths from the folder of an input, or
    /// from an input that is a folder. `*` stands for the name of the input without its ending.
    pub beside: &'static [&'static str],
}

/// An option of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its name: the long flag without dashes, or what a positional argument is called.
    pub name: String,
    /// Whether it is given without a flag.
    pub positional: bool,
    /// What it takes.
    pub takes: Takes,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it is given or not.
    Nothing,
    /// A number, a name, a text.
    Value,
    /// A file or directory that is read.
    Input,
    /// A file or directory that is written.
    Output,
    /// A directory that saves work and changes no result; several steps may share it.
    Cache,
    /// A model: a directory, or a name.
    Model,
    /// The same after this prefix. Other values do not name a model.
    ModelAfter(&'static str),
}

/// Arguments that a command does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadArguments {
    /// The option, if it is one of them.
    pub option: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it, if that is known.
    pub hint: Option<String>,
}
