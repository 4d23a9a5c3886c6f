//! What can be wrong with a model.

use std::path::PathBuf;

use toller_files::FileError;

/// Why a model cannot be loaded or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncoderError {
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
    /// The tokenizer failed on a text.
    #[error("the tokenizer failed: {0}")]
    Tokenizer(String),
    /// The tokenizer made a token that the model has no embedding for.
    #[error("the tokenizer makes token id {id}, but the model has {vocabulary} word embeddings")]
    TokenId {
        /// The token.
        id: u32,
        /// The rows of the word embeddings.
        vocabulary: usize,
    },
    /// A maximum length that the model cannot take.
    #[error("a maximum length of {asked} tokens; {reason}")]
    MaxLength {
        /// What was asked for.
        asked: usize,
        /// Why that cannot be.
        reason: String,
    },
    /// A first text of a pair that leaves no room for the second.
    #[error("the first text of the pair (the query) alone is too long for {max_length} tokens")]
    FirstTextTooLong {
        /// The tokens of an input, special tokens included.
        max_length: usize,
    },
    /// Two towers whose vectors cannot be compared.
    #[error("the queries' model makes vectors of {query} dimensions, the passages' of {passage}")]
    Towers {
        /// The dimensions of a query's vector.
        query: usize,
        /// The dimensions of a passage's vector.
        passage: usize,
    },
    /// A label that a classifier does not have, or none where one must be chosen.
    #[error("{}", match asked {
        Some(label) => format!("label {label}: the model has {}", named(labels)),
        None => format!("which label of the model is its score? It has {}", named(labels)),
    })]
    Label {
        /// The label that was asked for.
        asked: Option<usize>,
        /// The labels' names.
        labels: Vec<String>,
    },
    /// Vectors of more dimensions than the model makes, or of none.
    #[error("vectors of {asked} dimensions, but the model makes {dim}")]
    Dimensions {
        /// What was asked for.
        asked: usize,
        /// The dimensions of the model's vectors.
        dim: usize,
    },
    /// A model's own files and its manifest in models/ say differently.
    #[error(transparent)]
    Contradiction(#[from] Box<Contradiction>),
    /// The numeric operations failed.
    #[error("computing failed: {0}")]
    Compute(#[from] candle_core::Error),
}

/// Labels with their numbers: `0 (contradiction), 1 (entailment)`.
fn named(labels: &[String]) -> String {
    let numbered = labels.iter().enumerate().map(|(number, name)| format!("{number} ({name})"));
    numbered.collect::<Vec<_>>().join(", ")
}

/// What a model's own files and its manifest in models/ say differently.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what} is {directory_says} by the model's own files and {manifest_says} by models/{name}.toml", directory.display())]
pub struct Contradiction {
    /// The model's directory.
    pub directory: PathBuf,
    /// The model's name.
    pub name: &'static str,
    /// What they differ in.
    pub what: &'static str,
    /// What the directory says.
    pub directory_says: String,
    /// What the manifest says.
    pub manifest_says: String,
}

impl EncoderError {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::File(error) => return error.hint(),
            Self::MissingFile { .. } => {
                "give --model a sentence-transformers or transformers directory: config.json, \
                 a tokenizer.json or vocab.txt, and model.safetensors or pytorch_model.bin"
                    .to_owned()
            }
            Self::Unsupported { supported, .. } => format!("supported: {supported}"),
            Self::Weights { .. } => "download the model again; the file may be truncated".to_owned(),
            Self::MissingTensor { .. } | Self::TensorShape { .. } => {
                "config.json and the weights are not of the same model; check both".to_owned()
            }
            Self::TokenId { .. } => {
                "the tokenizer and the weights are not of the same model; check both".to_owned()
            }
            Self::FirstTextTooLong { .. } => {
                "truncate both texts (longest_first), or raise --max-length".to_owned()
            }
            Self::Towers { .. } => "take two encoders that were trained together".to_owned(),
            Self::Label { .. } => "choose a label by its number".to_owned(),
            Self::Contradiction(found) => {
                format!("to use the files as they are, give --model {}", found.directory.display())
            }
            Self::MaxLength { .. } => "change --max-length".to_owned(),
            Self::Dimensions { dim, .. } => {
                format!("--dim keeps the first dimensions of a vector: give 1 to {dim}, or leave it out")
            }
            Self::Config { .. } | Self::Tokenizer(_) | Self::Compute(_) => return None,
        })
    }
}
