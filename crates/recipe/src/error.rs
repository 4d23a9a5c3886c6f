//! What can be wrong with a recipe, and where.

use std::fmt;
use std::path::PathBuf;

use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Position, Remedy, Setting, remedy};

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
    /// A line that is wrong.
    #[error("{place}: {message}")]
    Bad {
        /// Which line.
        place: Place,
        /// What is wrong.
        message: String,
        /// What to do, if that is known.
        remedy: Option<Remedy>,
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
    #[error("another process works in {}", .0.display())]
    Busy(PathBuf),
    /// The state in the folder is damaged.
    #[error("{} is damaged: its checksum does not fit", .0.display())]
    DamagedState(PathBuf),
    /// Files or directories where steps would write, and that no step made.
    #[error("no step of this recipe made {}", listed(.0))]
    Foreign(Vec<PathBuf>),
    /// Stores or indexes where steps would make others, each with how it differs.
    #[error("this recipe would not make what is there: {}", reasons(.0))]
    MadeOtherwise(Vec<(PathBuf, String)>),
    /// An output that people fill in, and that a step would replace.
    #[error("{} was changed since step {step} wrote it: people may have filled it in", path.display())]
    FilledIn {
        /// The step.
        step: String,
        /// The output.
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
    /// A value is missing from a report.
    #[error("{} has no value {what}", report.display())]
    NoValue {
        /// The report.
        report: PathBuf,
        /// What was looked for.
        what: String,
        /// What to do.
        remedy: Remedy,
    },
}

/// `a, b`
fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Each names its path.
fn reasons(found: &[(PathBuf, String)]) -> String {
    found.iter().map(|(_, why)| why.as_str()).collect::<Vec<_>>().join("; ")
}

impl Explain for RecipeError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File(error) => error.remedy(),
            Self::Bad { remedy, .. } => remedy.clone(),
            Self::UnknownVariable { known, .. } if known.is_empty() => {
                Some(remedy!("it has none; leave {} out", Setting::Set))
            }
            Self::UnknownVariable { known, .. } => Some(format!("it has {}", known.join(", ")).into()),
            Self::Busy(_) => Some(remedy!("wait for it to end, or give {} another folder", Setting::Work)),
            Self::DamagedState(_) => Some(remedy!("add {} to carry out every step again", Setting::Force)),
            Self::Foreign(_) | Self::MadeOtherwise(_) => Some(remedy!(
                "move that away, give {} another folder, or add {} to replace what is there",
                Setting::Work,
                Setting::Force
            )),
            Self::FilledIn { .. } => Some("move it away, and run the recipe again".into()),
            Self::NotWritten { .. } => Some(
                "this is a defect of toller: please report it with the recipe and the messages above".into(),
            ),
            Self::NoValue { remedy, .. } => Some(remedy.clone()),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::Bad { place, .. } => Some(ErrorPlace {
                position: Some(Position::Line(place.line as u64)),
                ..ErrorPlace::of_file(&place.file)
            }),
            Self::UnknownVariable { file: path, .. }
            | Self::Busy(path)
            | Self::DamagedState(path)
            | Self::FilledIn { path, .. }
            | Self::NotWritten { path, .. }
            | Self::NoValue { report: path, .. } => Some(ErrorPlace::of_file(path)),
            Self::Foreign(paths) => paths.first().map(|path| ErrorPlace::of_file(path)),
            Self::MadeOtherwise(found) => found.first().map(|(path, _)| ErrorPlace::of_file(path)),
        }
    }
}
