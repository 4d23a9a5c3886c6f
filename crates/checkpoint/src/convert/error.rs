//! Why a checkpoint cannot be converted.

use std::path::PathBuf;

use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, remedy};
use toller_pickle::PickleError;

use crate::ModelError;

/// Why a checkpoint cannot be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The output holds something already.
    #[error("{} is not empty", .0.display())]
    OutputExists(PathBuf),
    /// An option that has no effect on PyTorch's weights.
    #[error("{} holds PyTorch's weights, which are converted as they are", path.display())]
    Unused {
        /// The checkpoint.
        path: PathBuf,
        /// The option.
        setting: Setting,
    },
    /// There is no checkpoint where one was named.
    #[error("{} holds no checkpoint", .0.display())]
    NoCheckpoint(PathBuf),
    /// There are several checkpoints where one was named.
    #[error("{} holds several checkpoints: {}", .directory.display(), .names.join(", "))]
    Ambiguous {
        /// The directory.
        directory: PathBuf,
        /// The files.
        names: Vec<String>,
    },
    /// A pickle that cannot be read.
    #[error("{}: {source}", .path.display())]
    Pickle {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PickleError,
    },
    /// A file that is not what Paddle writes.
    #[error("{}: {problem}", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Combined variables without the program that names them.
    #[error("{} holds variables without their names, and there is no program next to it", .0.display())]
    NoProgram(PathBuf),
    /// There is no configuration.
    #[error("{} has no configuration of the model", .0.display())]
    NoConfig(PathBuf),
    /// There is no vocabulary.
    #[error("{} has no vocabulary", .0.display())]
    NoVocabulary(PathBuf),
    /// The variables have names that say nothing.
    #[error("the variables of {} are not named as those of an ERNIE or BERT: {}", .path.display(), .names.join(", "))]
    Naming {
        /// The checkpoint.
        path: PathBuf,
        /// Some of the names.
        names: Vec<String>,
    },
    /// Several encoders where one is expected.
    #[error("{} holds several encoders, whose names begin with {}", .path.display(), .prefixes.join(", "))]
    SeveralEncoders {
        /// The checkpoint.
        path: PathBuf,
        /// The beginnings of the names.
        prefixes: Vec<String>,
    },
    /// Variables that the model needs.
    #[error("{} is missing {} that the configuration needs: {}", .path.display(), count(.names), .names.join(", "))]
    Missing {
        /// The checkpoint.
        path: PathBuf,
        /// The names, as transformers has them.
        names: Vec<String>,
    },
    /// Variables whose purpose is not known.
    #[error("{} holds {} of unknown purpose: {}", .path.display(), count(.names), .names.join(", "))]
    Unexpected {
        /// The checkpoint.
        path: PathBuf,
        /// The names, as the checkpoint has them.
        names: Vec<String>,
    },
    /// A variable that cannot be what its name says.
    #[error("{}: variable {name:?} {problem}", .path.display())]
    Variable {
        /// The checkpoint.
        path: PathBuf,
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A model that transformers and Toller have no architecture for.
    #[error("{}: {what}", .path.display())]
    Unsupported {
        /// The file that says so.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// PyTorch weights that cannot be read.
    #[error(transparent)]
    Weights(#[from] ModelError),
}

fn count(names: &[String]) -> String {
    match names.len() {
        1 => "a variable".to_owned(),
        count => format!("{count} variables"),
    }
}

impl Explain for ConvertError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::File(error) => return error.remedy(),
            Self::Weights(error) => return error.remedy(),
            Self::Unused { setting, .. } => remedy!("leave {} out", *setting),
            Self::OutputExists(_) => remedy!("give {} a new or an empty directory", Setting::Output),
            Self::NoCheckpoint(_) => {
                "give a .pdparams file, a directory of variables, __params__ or .pdiparams with its \
                 program, or a directory with one of them"
                    .into()
            }
            Self::Ambiguous { .. } => "give one of the files instead of the directory".into(),
            Self::Pickle { source: PickleError::Unexpected { .. }, .. } => {
                "only what paddle.save makes of a state dictionary is read; save the state dictionary \
                 alone"
                    .into()
            }
            Self::Pickle { source, .. } => return source.remedy(),
            Self::Format { .. } => "copy or download the file again; it may be truncated".into(),
            Self::NoProgram(_) => {
                "put the program next to it (__model__, NAME.pdmodel or NAME.json), or give the .pdparams \
                 file or the directory of variables of the same model"
                    .into()
            }
            Self::NoConfig(_) => remedy!(
                "put ernie_config.json, model_config.json or config.json next to it, or name one with {}",
                Setting::Config
            ),
            Self::NoVocabulary(_) => remedy!("put vocab.txt next to it, or name one with {}", Setting::Vocab),
            Self::Naming { .. } => {
                "names as linear_0.w_0 do not say what a variable is: give the .pdparams file of the same \
                 model"
                    .into()
            }
            Self::SeveralEncoders { .. } => remedy!("choose one with {}", Setting::Prefix),
            Self::Missing { .. } => {
                "the configuration and the checkpoint are not of the same model; check both".into()
            }
            Self::Unexpected { .. } => {
                remedy!("if the model does not need them, add {}", Setting::AllowUnexpected)
            }
            Self::Variable { .. } => {
                "the configuration and the checkpoint are not of the same model, or the file is damaged"
                    .into()
            }
            Self::Unsupported { .. } => return None,
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::Weights(error) => error.place(),
            Self::OutputExists(path)
            | Self::Unused { path, .. }
            | Self::NoCheckpoint(path)
            | Self::Ambiguous { directory: path, .. }
            | Self::Pickle { path, .. }
            | Self::Format { path, .. }
            | Self::NoProgram(path)
            | Self::NoConfig(path)
            | Self::NoVocabulary(path)
            | Self::Naming { path, .. }
            | Self::SeveralEncoders { path, .. }
            | Self::Missing { path, .. }
            | Self::Unexpected { path, .. }
            | Self::Variable { path, .. }
            | Self::Unsupported { path, .. } => Some(ErrorPlace::of_file(path)),
        }
    }
}
