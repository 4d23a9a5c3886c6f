//! The native half of the Python package `toller`. Its other half, in `python/toller`, adds the signatures
//! that Python's users know.
//!
//! Whatever takes time runs in `work::run`: without Python's lock, in threads that survive a fork, stopped
//! by Ctrl-C, with panics as exceptions.

mod arrays;
mod arrow;
mod by_name;
mod error;
mod feedback;
mod flat;
mod given;
mod identifiers;
mod jobs;
mod mappings;
mod measures;
mod mine;
mod models;
mod names;
mod paths;
mod row_numbers;
mod rows;
mod runs;
mod searcher;
mod store;
mod texts;
mod threads;
mod training;
mod training_data;
mod training_dev;
mod training_options;
mod whole;
mod words;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;
use pyo3::types::PyMapping;

/// The native half of the package.
#[pymodule]
mod _toller {
    use super::*;

    #[pymodule_export]
    use crate::flat::FlatIndex;
    #[pymodule_export]
    use crate::jobs::{encode, index};
    #[pymodule_export]
    use crate::measures::{PyEvaluation, compare, evaluate, evaluation_of, fuse};
    #[pymodule_export]
    use crate::mine::mine;
    #[pymodule_export]
    use crate::models::{DualEncoder, PairScorer};
    #[pymodule_export]
    use crate::rows::run_of_rows;
    #[pymodule_export]
    use crate::runs::{Qrels, Run};
    #[pymodule_export]
    use crate::searcher::{PySearcher, SparseIndex, queries_of_files};
    #[pymodule_export]
    use crate::store::{Store, reopen};
    #[pymodule_export]
    use crate::texts::PyTexts;
    #[pymodule_export]
    use crate::training::{train_cross, train_dual, train_token};

    /// Computes in this many threads from now on, 0 for as many as there are processors.
    #[pyfunction]
    fn set_num_threads(threads: usize) -> PyResult<()> {
        Ok(crate::threads::ask_for(threads)?)
    }

    /// The number of threads that compute.
    #[pyfunction]
    fn get_num_threads() -> PyResult<usize> {
        Ok(crate::threads::pool()?.current_num_threads())
    }

    /// Runs a command line, whose first word is the program's name. Returns the exit status.
    #[pyfunction]
    fn command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| toller_cli::main(&arguments))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        toller_cli::install_object_stores();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        PyMapping::register::<PyEvaluation>(module.py())?;
        PyMapping::register::<Run>(module.py())?;
        PyMapping::register::<Qrels>(module.py())
    }
}
