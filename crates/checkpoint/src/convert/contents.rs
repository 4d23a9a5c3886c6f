//! The bytes of a checkpoint's files, and the tensors in them.

use std::path::PathBuf;

use toller_pickle::Pickle;

use super::checkpoint::Checkpoint;
use super::{ConvertError, pdparams, persistables, program};

/// The bytes of a checkpoint's files.
pub(super) enum Contents {
    /// A pickle of `paddle.save`.
    Pickle { path: PathBuf, bytes: Vec<u8> },
    /// One file per variable: the variable's name, and the file.
    Variables(Vec<(String, PathBuf, Vec<u8>)>),
    /// All variables in one file, and the program that names them.
    Combined { path: PathBuf, bytes: Vec<u8>, program_path: PathBuf, program: Vec<u8> },
}

impl Contents {
    /// The pickle, if it is one.
    pub(super) fn pickle(&self) -> Result<Option<Pickle<'_>>, ConvertError> {
        let Self::Pickle { path, bytes } = self else { return Ok(None) };
        let pickle = Pickle::load(bytes);
        pickle.map(Some).map_err(|source| ConvertError::Pickle { path: path.clone(), source })
    }

    /// The tensors in the files, `pickle` being theirs.
    pub(super) fn checkpoint<'a>(
        &'a self,
        pickle: Option<&'a Pickle<'a>>,
    ) -> Result<Checkpoint<'a>, ConvertError> {
        let broken = |path: &PathBuf| {
            let path = path.clone();
            move |problem| ConvertError::Format { path, problem }
        };
        match self {
            Self::Pickle { path, bytes } => {
                let checkpoint = pickle.map(|pickle| pdparams::read(pickle, bytes.len()));
                let named = |source| ConvertError::Pickle { path: path.clone(), source };
                checkpoint.transpose().map_err(named).map(Option::unwrap_or_default)
            }
            Self::Variables(files) => {
                let mut checkpoint = Checkpoint::default();
                for (name, path, bytes) in files {
                    let tensor = persistables::variable(bytes).map_err(broken(path))?;
                    checkpoint.tensors.insert(name.clone(), tensor);
                }
                Ok(checkpoint)
            }
            Self::Combined { path, bytes, program_path, program } => {
                let variables = program::variables(program).map_err(broken(program_path))?;
                persistables::combined(bytes, &variables).map_err(broken(path))
            }
        }
    }
}
