//! The checkpoint that was given, and the files next to it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toller_files::{FileError, names_in, parent};

use super::contents::Contents;
use super::{ConvertError, ConvertOptions};
use crate::torch::is_legacy;
use crate::{ModelError, choose_weights, read_json};

/// A checkpoint with its configuration and its vocabulary.
pub(super) struct Source {
    pub(super) kind: Kind,
    given: PathBuf,
    config: Option<PathBuf>,
    vocabulary: Option<PathBuf>,
    /// The most tokens of a query, if RocketQA's configuration gives a limit.
    pub(super) query_length: Option<usize>,
    /// The tokens of a passage, or of a query with a passage, at most.
    pub(super) passage_length: Option<usize>,
}

/// The form of a checkpoint.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A pickle of `paddle.save`.
    Pickle(PathBuf),
    /// A directory with one file per variable.
    Variables(PathBuf),
    /// All variables in one file.
    Combined(PathBuf),
    /// A directory of PyTorch weights.
    PyTorch {
        /// The model's.
        directory: PathBuf,
        /// The weights, if they were named.
        weights: Option<PathBuf>,
    },
}

/// RocketQA's `config.json`: where the parts of a model are.
#[derive(Deserialize)]
struct RocketQa {
    model_conf_path: PathBuf,
    model_vocab_path: PathBuf,
    model_checkpoint_path: PathBuf,
    q_max_seq_len: Option<usize>,
    p_max_seq_len: Option<usize>,
    max_seq_len: Option<usize>,
}

/// tokenizer_config.json of PaddleNLP, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenizerConfig {
    do_lower_case: Option<bool>,
}

const CONFIGS: [&str; 3] = ["ernie_config.json", "model_config.json", "config.json"];

impl Source {
    /// Finds the checkpoint in the given file or directory, and the files next to it.
    pub(super) fn find(given: &Path, options: &ConvertOptions) -> Result<Self, ConvertError> {
        let directory = if given.is_dir() { given } else { parent(given) };
        let rocketqa = if given.is_dir() { RocketQa::read(given)? } else { None };
        let checkpoint = rocketqa.as_ref().map(|parts| given.join(&parts.model_checkpoint_path));
        let kind = Kind::find(checkpoint.as_deref().unwrap_or(given))?;
        // A directory of variables has its configuration around it rather than in it.
        let nearby = |names: &[&str]| {
            let folders = [directory, directory.parent().unwrap_or(directory)];
            let mut paths = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
            paths.find(|path| path.is_file())
        };
        let named = |part: fn(&RocketQa) -> &PathBuf| rocketqa.as_ref().map(|parts| given.join(part(parts)));
        let named_config = named(|parts| &parts.model_conf_path);
        let named_vocabulary = named(|parts| &parts.model_vocab_path);
        Ok(Self {
            kind,
            given: given.to_owned(),
            config: options.config.clone().or(named_config).or_else(|| nearby(&CONFIGS)),
            vocabulary: options.vocabulary.clone().or(named_vocabulary).or_else(|| nearby(&["vocab.txt"])),
            query_length: rocketqa.as_ref().and_then(|parts| parts.q_max_seq_len),
            passage_length: rocketqa.as_ref().and_then(|parts| parts.p_max_seq_len.or(parts.max_seq_len)),
        })
    }

    pub(super) fn config(&self) -> Result<&Path, ConvertError> {
        self.config.as_deref().ok_or_else(|| ConvertError::NoConfig(self.given.clone()))
    }

    pub(super) fn vocabulary(&self) -> Result<&Path, ConvertError> {
        self.vocabulary.as_deref().ok_or_else(|| ConvertError::NoVocabulary(self.given.clone()))
    }

    /// Whether texts are lower-cased: as `tokenizer_config.json` next to the vocabulary says, or else yes,
    /// the default of ERNIE's tokenizers.
    pub(super) fn lower_case(&self) -> Result<bool, ConvertError> {
        let path = self.vocabulary()?.with_file_name("tokenizer_config.json");
        Ok(read_json::<TokenizerConfig>(&path)?.unwrap_or_default().do_lower_case.unwrap_or(true))
    }
}

impl RocketQa {
    /// RocketQA's `config.json`, if the one of the directory is that.
    fn read(directory: &Path) -> Result<Option<Self>, ConvertError> {
        let path = directory.join("config.json");
        let value: Option<serde_json::Value> = read_json(&path)?;
        let Some(value) = value.filter(|value| value.get("model_checkpoint_path").is_some()) else {
            return Ok(None);
        };
        let config = serde_json::from_value(value).map(Some);
        Ok(config.map_err(|error| ModelError::Config { problem: error.to_string(), path })?)
    }
}

impl Kind {
    fn find(path: &Path) -> Result<Self, ConvertError> {
        if !path.is_dir() {
            return Self::of_file(path);
        }
        let names = file_names(path)?;
        let ending =
            |ending: &str| names.iter().filter(|name| name.ends_with(ending)).cloned().collect::<Vec<_>>();
        let pickles = ending(".pdparams");
        let combined: Vec<String> = ending(".pdiparams")
            .into_iter()
            .chain(names.iter().find(|name| *name == "__params__").cloned())
            .collect();
        let usual = pickles.iter().find(|name| *name == "model_state.pdparams");
        match (usual, &pickles[..], &combined[..]) {
            (Some(only), ..) | (None, [only], _) => return Ok(Self::Pickle(path.join(only))),
            (None, [], [only]) => return Ok(Self::Combined(path.join(only))),
            (None, [], []) => {}
            (None, _, _) => {
                let names = pickles.into_iter().chain(combined).collect();
                return Err(ConvertError::Ambiguous { directory: path.to_owned(), names });
            }
        }
        if !choose_weights(&names.iter().map(String::as_str).collect::<Vec<_>>()).is_empty() {
            return Ok(Self::PyTorch { directory: path.to_owned(), weights: None });
        }
        if names.iter().any(|name| is_variable(name)) {
            return Ok(Self::Variables(path.to_owned()));
        }
        Err(ConvertError::NoCheckpoint(path.to_owned()))
    }

    /// The form of a file, by its first bytes.
    fn of_file(path: &Path) -> Result<Self, ConvertError> {
        let start = start_of(path)?;
        let is_safetensors = path.extension().is_some_and(|extension| extension == "safetensors");
        if is_safetensors || start.starts_with(b"PK") || is_legacy(&start) {
            return Ok(Self::PyTorch { directory: parent(path).to_owned(), weights: Some(path.to_owned()) });
        }
        let is_pickle = start.first() == Some(&0x80);
        Ok(if is_pickle { Self::Pickle(path.to_owned()) } else { Self::Combined(path.to_owned()) })
    }

    /// The checkpoint's file or directory.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Pickle(path) | Self::Variables(path) | Self::Combined(path) => path,
            Self::PyTorch { directory, weights } => weights.as_ref().unwrap_or(directory),
        }
    }

    /// The bytes of its files.
    pub(super) fn read(&self) -> Result<Contents, ConvertError> {
        let read = |path: &Path| std::fs::read(path).map_err(FileError::on("read", path));
        match self {
            Self::Variables(directory) => {
                let mut variables = Vec::new();
                for name in file_names(directory)?.into_iter().filter(|name| is_variable(name)) {
                    let path = directory.join(&name);
                    variables.push((name, path.clone(), read(&path)?));
                }
                Ok(Contents::Variables(variables))
            }
            Self::Combined(path) => {
                let program_path = program_of(path).ok_or_else(|| ConvertError::NoProgram(path.clone()))?;
                let program = read(&program_path)?;
                Ok(Contents::Combined { path: path.clone(), bytes: read(path)?, program_path, program })
            }
            Self::Pickle(path) | Self::PyTorch { directory: path, .. } => {
                Ok(Contents::Pickle { path: path.clone(), bytes: read(path)? })
            }
        }
    }
}

/// Whether a file of a directory of variables is one; configurations and vocabularies may lie among them.
fn is_variable(name: &str) -> bool {
    let other = [".json", ".txt", ".md", ".pdmodel", ".pdopt", ".py", ".tsv", ".gz"];
    !name.starts_with('.') && name != "__model__" && !other.iter().any(|ending| name.ends_with(ending))
}

/// The program next to a file of variables: `NAME.pdmodel` or `NAME.json`, or `__model__`.
fn program_of(params: &Path) -> Option<PathBuf> {
    let candidates =
        [params.with_extension("pdmodel"), params.with_extension("json"), params.with_file_name("__model__")];
    candidates.into_iter().find(|path| path.is_file() && path != params)
}

fn start_of(path: &Path) -> Result<Vec<u8>, ConvertError> {
    use std::io::Read;
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(64).read_to_end(&mut start));
    read.map_err(FileError::on("read", path))?;
    Ok(start)
}

/// The names of the files of a directory, sorted.
fn file_names(directory: &Path) -> Result<Vec<String>, FileError> {
    let mut names = names_in(directory)?;
    names.retain(|name| directory.join(name).is_file());
    Ok(names)
}
