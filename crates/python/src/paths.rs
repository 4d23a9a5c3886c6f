//! Arguments that name files.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use toller_files::Input;

/// One path or several.
pub(crate) enum Paths {
    /// A str or an os.PathLike.
    One(PathBuf),
    /// A list of them.
    Several(Vec<PathBuf>),
}

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(path) = given.extract::<PathBuf>() {
            return Ok(Self::One(path));
        }
        let paths = given.extract::<Vec<PathBuf>>();
        Ok(Self::Several(paths.map_err(|_| wrong_type(&given, "a path or a list of paths"))?))
    }
}

/// The error of an argument of another type than those that are expected.
pub(crate) fn wrong_type(given: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let of = given.get_type();
    PyTypeError::new_err(format!("{expected} is expected, not an object of {of}"))
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
