//! What can be wrong with a recipe, and where.

use std::fmt;
use std::path::PathBuf;

use toller_files::FileError;

/// A line of a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The recipe's file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Why a recipe cannot be read, planned or carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// A file of the recipe or of its folder.
    #[error(transparent)]
    File(#[from] FileError),
    /// What a line says cannot be.
    #[error("{place}: {message}")]
    Bad {
        /// Which line.
        place: Place,
        /// What is wrong.
        message: String,
        /// What to do, if that is known.
        hint: Option<String>,
    },
    /// A value was given to a variable that the recipe does not have.
    #[error("{} has no variable {name:?}", file.display())]
    UnknownVariable {
        /// The recipe.
        file: PathBuf,
        /// The variable.
        name: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// Another process carries a recipe out in this folder.
    #[error("another process works in {}", directory.display())]
    Busy {
        /// The folder.
        directory: PathBuf,
    },
    /// What the folder remembers is damaged.
    #[error("{} is damaged: its checksum does not fit", path.display())]
    DamagedState {
        /// The file.
        path: PathBuf,
    },
    /// There is something where a step would write, and it was not made here.
    #[error("{} exists, and no step of this recipe made it", path.display())]
    Foreign {
        /// What is there.
        path: PathBuf,
    },
    /// A step ended without writing what it should.
    #[error("step {step} ended and did not write {}", path.display())]
    NotWritten {
        /// The step.
        step: String,
        /// What is not there.
        path: PathBuf,
    },
    /// A report lacks a value that something asks for.
    #[error("{} has no value {what}", report.display())]
    NoValue {
        /// The report.
        report: PathBuf,
        /// What was looked for.
        what: String,
        /// What to do.
        hint: String,
    },
}

impl RecipeError {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Bad { hint, .. } => hint.clone(),
            Self::UnknownVariable { known, .. } if known.is_empty() => {
                Some("it has none; leave --set out".to_owned())
            }
            Self::UnknownVariable { known, .. } => Some(format!("it has {}", known.join(", "))),
            Self::Busy { .. } => Some("wait for it to end, or give --work another folder".to_owned()),
            Self::DamagedState { .. } => Some("add --force to carry out every step again".to_owned()),
            Self::Foreign { .. } => Some(
                "move it away, give --work another folder, or add --force to replace what is there"
                    .to_owned(),
            ),
            Self::NotWritten { .. } => Some(
                "this is a defect of toller: please report it with the recipe and what stands above"
                    .to_owned(),
            ),
            Self::NoValue { hint, .. } => Some(hint.clone()),
        }
    }
}
