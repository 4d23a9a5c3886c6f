//! Arguments that name files.

use std::path::PathBuf;

use pyo3::prelude::*;
use toller_files::Input;

/// One path or several.
#[derive(FromPyObject)]
pub(crate) enum Paths {
    /// A str or an os.PathLike.
    One(PathBuf),
    /// A list of them.
    Several(Vec<PathBuf>),
}

impl Paths {
    /// All of them.
    pub(crate) fn all(self) -> Vec<PathBuf> {
        match self {
            Self::One(path) => vec![path],
            Self::Several(paths) => paths,
        }
    }
}

/// The input that a path names.
pub(crate) fn input(path: PathBuf) -> Input {
    Input::parse(path)
}
