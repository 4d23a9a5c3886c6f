//! Checkpoints of PaddlePaddle, and old ones of PyTorch, to directories that transformers and Toller load.
//!
//! ```text
//! source ──> checkpoint (names, tensors) ──> towers ──> model (transformers' names, checked) ──> write
//! ```

mod checkpoint;
mod config;
mod contents;
mod error;
mod model;
mod names;
mod pdparams;
mod persistables;
mod program;
mod pytorch;
mod source;
mod towers;
mod vocabulary;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use checkpoint::LeftOut;
pub use error::ConvertError;

use toller_files::StagedDirectory;
use toller_ir::Setting;

use crate::TOWERS;
use crate::elements::StoredTensor;
use config::SourceConfig;
use model::Model;
use source::{Kind, Source};
use towers::Parts;
use vocabulary::Vocabulary;
use write::{Directory, Tokenizer, WEIGHTS_FILE};

/// How to convert.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// The configuration, where it is not next to the checkpoint.
    pub config: Option<PathBuf>,
    /// The vocabulary, where it is not next to the checkpoint.
    pub vocabulary: Option<PathBuf>,
    /// The prefix of the encoder to convert, where a checkpoint holds several.
    pub prefix: Option<String>,
    /// Leave variables out whose purpose is not known, instead of refusing them.
    pub allow_unexpected: bool,
}

impl ConvertOptions {
    /// Refuses options that have no effect on PyTorch's weights, whose other files are copied.
    fn check_unused(&self, source: &Path) -> Result<(), ConvertError> {
        let Self { config, vocabulary, prefix, allow_unexpected } = self;
        let given = [
            (Setting::Config, config.is_some()),
            (Setting::Vocab, vocabulary.is_some()),
            (Setting::Prefix, prefix.is_some()),
            (Setting::AllowUnexpected, *allow_unexpected),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((setting, _)) => Err(ConvertError::Unused { path: source.to_owned(), setting }),
        }
    }
}

/// What was converted.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The model directories: one, or the two of a dual encoder.
    pub models: Vec<ConvertedModel>,
    /// What the checkpoint holds and no model needs.
    pub left_out: Vec<LeftOut>,
}

/// A model directory that was written.
#[derive(Clone, Debug)]
pub struct ConvertedModel {
    /// Where it is.
    pub directory: PathBuf,
    /// The class of transformers that loads it.
    pub architecture: String,
    /// Its tensors.
    pub tensors: usize,
    /// Its parameters.
    pub parameters: usize,
}

impl ConvertedModel {
    fn new(directory: &Path, architecture: &str, tensors: &BTreeMap<String, StoredTensor<'_>>) -> Self {
        let parameters = tensors.values().map(|tensor| tensor.layout.len()).sum();
        let (directory, architecture) = (directory.to_owned(), architecture.to_owned());
        Self { directory, architecture, tensors: tensors.len(), parameters }
    }
}

/// Converts the checkpoint `source` into the directory `output`, which must not hold anything yet.
///
/// `source` is a `.pdparams` file, a directory of one file per variable, a combined `__params__` or
/// `.pdiparams` file with its program, RocketQA's or PaddleNLP's directory with any of these, or a directory
/// of PyTorch weights.
///
/// # Errors
/// When a file is missing or cannot be read, or when a variable is missing, unexpected or of another shape
/// than the configuration says.
pub fn convert(source: &Path, output: &Path, options: &ConvertOptions) -> Result<Converted, ConvertError> {
    let exists = || ConvertError::OutputExists(output.to_owned());
    let staged = StagedDirectory::create(output)?.ok_or_else(exists)?;
    let mut converted = convert_into(staged.path(), source, options)?;
    for model in &mut converted.models {
        if let Ok(folder) = model.directory.strip_prefix(staged.path()) {
            // A path that is joined with nothing ends in a slash.
            let is_whole = folder.as_os_str().is_empty();
            model.directory = if is_whole { output.to_owned() } else { output.join(folder) };
        }
    }
    staged.commit(WEIGHTS_FILE)?;
    Ok(converted)
}

fn convert_into(output: &Path, source: &Path, options: &ConvertOptions) -> Result<Converted, ConvertError> {
    let source = Source::find(source, options)?;
    if let Kind::PyTorch { directory, weights } = &source.kind {
        options.check_unused(directory)?;
        return pytorch::convert(directory, weights.as_deref(), output);
    }
    let config = SourceConfig::read(source.config()?)?;
    let vocabulary = Vocabulary::read(source.vocabulary()?)?;
    let contents = source.kind.read()?;
    let pickle = contents.pickle()?;
    let checkpoint = contents.checkpoint(pickle.as_ref())?;
    let path = source.kind.path();

    let (parts, mut left_out) = Parts::split(checkpoint, path, options)?;
    let mut planned = Vec::new();
    match parts {
        Parts::One(tower) => {
            let model = Model::assemble(tower, &config, path, &mut left_out)?;
            planned.push((output.to_owned(), source.passage_length, model));
        }
        Parts::Two { query, passage } => {
            for (name, length, tower) in
                [(TOWERS[0], source.query_length, query), (TOWERS[1], source.passage_length, passage)]
            {
                let model = Model::assemble(tower, &config, path, &mut left_out)?;
                planned.push((output.join(name), length, model));
            }
        }
    }
    let mut models = Vec::new();
    for (directory, max_length, model) in &planned {
        vocabulary.check_fits(model.vocabulary_size())?;
        let tokenizer = Tokenizer {
            tokens: &vocabulary.tokens,
            lower_case: source.lower_case()?,
            max_length: max_length.unwrap_or_else(|| model.max_positions()),
        };
        Directory { path: directory, model, tokenizer }.write()?;
        models.push(ConvertedModel::new(directory, &model.architecture, &model.tensors));
    }
    left_out.sort();
    Ok(Converted { models, left_out })
}
