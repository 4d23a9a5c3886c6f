//! What can be wrong with a model's files.

use std::path::PathBuf;

use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, remedy};

/// Why a model's files cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that the model needs is not in its directory.
    #[error("{} has no {missing}", directory.display())]
    MissingFile {
        /// The model's directory.
        directory: PathBuf,
        /// The file, or the alternatives.
        missing: String,
    },
    /// A configuration file that is not as expected.
    #[error("{}: {problem}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        problem: String,
    },
    /// A model that cannot be run as it was made to be run.
    #[error("{}: {what} is not supported", path.display())]
    Unsupported {
        /// The file that asks for it.
        path: PathBuf,
        /// What it asks for.
        what: String,
        /// What is supported.
        supported: String,
    },
    /// A weights file that cannot be read as one.
    #[error("{}: {problem}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A pointer of Git LFS in the place of a file.
    #[error("{} is a pointer of Git LFS, not the file itself", path.display())]
    Pointer {
        /// The pointer.
        path: PathBuf,
    },
    /// A tensor that the architecture needs is not among the weights.
    #[error("the weights in {} have no tensor {name:?}", path.display())]
    MissingTensor {
        /// The weights file, or the first of them.
        path: PathBuf,
        /// The tensor.
        name: String,
    },
    /// A tensor of another shape than the configuration says.
    #[error("tensor {name:?} has shape {found:?}, the configuration needs {expected:?}")]
    TensorShape {
        /// The tensor.
        name: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// The shape that config.json asks for.
        expected: Vec<usize>,
    },
    /// Another number of values than a tensor's shape needs.
    #[error("a tensor of shape {shape:?} cannot have {values} values")]
    TensorLength {
        /// The shape.
        shape: Vec<usize>,
        /// The number of values.
        values: usize,
    },
}

impl ModelError {
    /// The error that the file at `path` asks for `what`, and that only `supported` is possible.
    pub fn unsupported(
        path: impl Into<PathBuf>,
        what: impl Into<String>,
        supported: impl Into<String>,
    ) -> Self {
        Self::Unsupported { path: path.into(), what: what.into(), supported: supported.into() }
    }
}

impl Explain for ModelError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::File(error) => return error.remedy(),
            Self::MissingFile { .. } => remedy!(
                "give {} a sentence-transformers or transformers directory: config.json, a tokenizer.json \
                 or vocab.txt, and model.safetensors or pytorch_model.bin",
                Setting::Model
            ),
            Self::Unsupported { supported, .. } => format!("supported: {supported}").into(),
            Self::Weights { .. } => {
                "download the model again; the file may be truncated, or of another format".into()
            }
            Self::Pointer { .. } => "run `git lfs pull` in the model's directory".into(),
            Self::MissingTensor { .. } | Self::TensorShape { .. } => {
                "config.json and the weights are not of the same model; check both".into()
            }
            Self::Config { .. } => "correct that file, or get the files of the model again".into(),
            Self::TensorLength { .. } => return None,
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::MissingFile { directory: path, .. }
            | Self::Config { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Weights { path, .. }
            | Self::Pointer { path }
            | Self::MissingTensor { path, .. } => Some(ErrorPlace::of_file(path)),
            Self::TensorShape { .. } | Self::TensorLength { .. } => None,
        }
    }
}
