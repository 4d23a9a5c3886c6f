//! What can be wrong with a model.

use std::path::PathBuf;

use toller_checkpoint::ModelError;
use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, counted, remedy};
use toller_nn::NnError;
use toller_tokenizer::TokenizerError;

use crate::titles::TitleName;

/// Why a model cannot be loaded or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// The model's files.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The tokenizer.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A maximum length of queries that the model cannot take.
    #[error("queries: {0}")]
    QueryLength(TokenizerError),
    /// The tokenizer made a token that the model has no embedding for.
    #[error("the tokenizer makes token id {id}, but the model has {vocabulary} word embeddings")]
    TokenId {
        /// The token.
        id: u32,
        /// The rows of the word embeddings.
        vocabulary: usize,
    },
    /// The tokenizer gives tokens of a pair a type that the model has no embedding for.
    #[error(
        "{}: the tokenizer gives the second text of a pair the type {token_type}, but the model has {}",
        folder.display(), counted(*token_types, "token type")
    )]
    TokenType {
        /// The folder of the model and its tokenizer.
        folder: PathBuf,
        /// The type, from 0.
        token_type: u32,
        /// The rows of the embeddings of types.
        token_types: usize,
    },
    /// Two towers whose vectors cannot be compared.
    #[error("the queries' model makes vectors of {query} dimensions, the passages' of {passage}")]
    Towers {
        /// The dimensions of a query's vector.
        query: usize,
        /// The dimensions of a passage's vector.
        passage: usize,
    },
    /// A classifier, such as a cross-encoder, where an encoder is needed.
    #[error("{}: encoding with a classifier, such as a cross-encoder, is not supported", path.display())]
    Classifier {
        /// The configuration.
        path: PathBuf,
    },
    /// A label that a classifier does not have, or no label where one must be chosen.
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
    /// A weight of a term that cannot be an impact: not a number, where the model computed beyond the range
    /// of its precision, negative, or too large.
    #[error("the model gives the term {term:?} the weight {weight}, and weights are from 0 to 167,772")]
    Weight {
        /// The term.
        term: String,
        /// The weight.
        weight: f32,
    },
    /// A sparse encoder where vectors are needed.
    #[error("{what} is for dense vectors, and this model gives weights to the terms of its vocabulary")]
    Sparse {
        /// What needs vectors.
        what: &'static str,
    },
    /// A dense encoder where weights of terms are needed.
    #[error("the model makes dense vectors, and not weights of terms")]
    Dense,
    /// Weights of terms that no network computes, where a network is needed.
    #[error("the weights of these terms are fixed, and no network computes them")]
    Static,
    /// Two sparse encoders of different vocabularies.
    #[error("the queries' model and the passages' give weights to different terms")]
    TowerTerms,
    /// A distance between windows that leaves tokens between them, or none at all.
    #[error("a stride of {stride} tokens, but a window has {window}")]
    Stride {
        /// Tokens from the start of a window to the start of the next.
        stride: usize,
        /// Tokens of a window, without special tokens.
        window: usize,
    },
    /// A model's own files and its manifest in models/ differ.
    #[error(transparent)]
    Contradiction(#[from] Box<Contradiction>),
    /// GPUs that would give one text different bits.
    #[error("a model on GPUs of different generations ({devices}), whose bits differ")]
    MixedDevices {
        /// The GPUs.
        devices: String,
    },
    /// A title or a context apart from the text, for a model that reads texts in a chat template.
    #[error(
        "the model reads texts in a chat template, which has no place for a title or a context of its own"
    )]
    TwoTexts,
    /// The caller stopped the work.
    #[error("encoding was stopped")]
    Stopped,
    /// The numeric operations failed.
    #[error("computing failed: {0}")]
    Compute(#[from] NnError),
}

impl EncoderError {
    /// Whether a device has too little memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Compute(NnError::CandleMemory(_)) => true,
            Self::Compute(NnError::Device(error)) => error.is_out_of_memory(),
            _ => false,
        }
    }

    /// Whether a device failed, so that other texts fail, too; not for lack of memory.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        matches!(self, Self::Compute(NnError::Device(error)) if !error.is_out_of_memory())
    }
}

/// Labels with their numbers: `0 (contradiction), 1 (entailment)`.
fn named(labels: &[String]) -> String {
    let numbered = labels.iter().enumerate().map(|(number, name)| format!("{number} ({name})"));
    numbered.collect::<Vec<_>>().join(", ")
}

/// A difference between a model's own files and its manifest in models/.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what} is {directory_says} by the model's own files and {manifest_says} by models/{name}.toml", directory.display())]
pub struct Contradiction {
    /// The model's directory.
    pub directory: PathBuf,
    /// The model's name.
    pub name: &'static str,
    /// The setting that differs.
    pub what: &'static str,
    /// The directory's value.
    pub directory_says: String,
    /// The manifest's value.
    pub manifest_says: String,
}

impl Explain for EncoderError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Model(error) => return error.remedy(),
            Self::Tokenizer(error) => return error.remedy(),
            Self::QueryLength(_) => remedy!("change {}", Setting::QueryMaxLength),
            Self::TokenId { .. } => {
                "the tokenizer and the weights are not of the same model; check both".into()
            }
            Self::TokenType { .. } => {
                "if the model was trained without token types, say so in tokenizer_config.json: \
                 \"model_input_names\": [\"input_ids\", \"attention_mask\"]"
                    .into()
            }
            Self::Dense => "take a sparse encoder: a masked language model with SpladePooling".into(),
            Self::Towers { .. } | Self::TowerTerms => "take two encoders that were trained together".into(),
            Self::TwoTexts => {
                remedy!("join titles and texts with {}", Setting::TitleMode.to(TitleName::Join.name()))
            }
            Self::Label { .. } => remedy!("choose a label by its number with {}", Setting::Label),
            Self::Classifier { .. } => {
                remedy!("supported: encoders; with {} its transformer is used as one", Setting::Pooling)
            }
            Self::Contradiction(found) => {
                let directory = found.directory.display().to_string();
                remedy!("to use the files as they are, give {}", Setting::Model.to(directory))
            }
            Self::Dimensions { dim, .. } => {
                let range =
                    format!(" keeps the first dimensions of a vector: give 1 to {dim}, or leave it out");
                remedy!("{}{}", Setting::Dim, range)
            }
            Self::Weight { .. } => remedy!(
                "if the model overflows, compute with {}; if that is how it was computed, check its weights",
                Setting::Dtype.to("f32")
            ),
            Self::Sparse { .. } => {
                remedy!("take a dense encoder; or, with {}, the transformer alone", Setting::Pooling)
            }
            Self::Stride { window, .. } => format!("choose a stride from 1 to {window}").into(),
            Self::MixedDevices { .. } => {
                remedy!("take the GPUs of one generation: use {}", Setting::Device.to("cuda:N"))
            }
            Self::Compute(NnError::Device(error)) => return error.remedy(),
            Self::Compute(NnError::GpuPrecision(_)) => {
                remedy!("use {} f16, bf16 or f32, or {}", Setting::Dtype, Setting::Device.to("cpu"))
            }
            Self::Compute(NnError::CandlePrecision(_)) => {
                remedy!("use {} f16, bf16 or f32, or {}", Setting::Dtype, Setting::Backend.to("native"))
            }
            // Batches were computed in halves, down to one text.
            Self::Compute(NnError::CandleMemory(_)) => remedy!(
                "free memory that other programs hold on the device (see nvidia-smi), cut texts by {}, or use {}",
                Setting::MaxLength,
                Setting::Device.to("cpu")
            ),
            Self::Static | Self::Compute(_) | Self::Stopped => return None,
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Model(error) => error.place(),
            Self::Tokenizer(error) | Self::QueryLength(error) => error.place(),
            Self::Classifier { path } | Self::TokenType { folder: path, .. } => {
                Some(ErrorPlace::of_file(path))
            }
            Self::Contradiction(found) => Some(ErrorPlace::of_file(&found.directory)),
            _ => None,
        }
    }
}

impl From<FileError> for EncoderError {
    fn from(error: FileError) -> Self {
        Self::Model(error.into())
    }
}
