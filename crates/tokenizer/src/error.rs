//! Why a text cannot be tokenized.

use toller_checkpoint::ModelError;
use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, remedy};

/// Why a tokenizer cannot be loaded or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The tokenizer's files.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The tokenizer failed on a text.
    #[error("the tokenizer failed: {0}")]
    Tokenizer(String),
    /// A maximum length that the model cannot take.
    #[error("a maximum length of {asked} tokens; {reason}")]
    MaxLength {
        /// The length that was asked for.
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
    /// A chat template that refuses a text or does not end.
    #[error("the chat template fails: {0}")]
    Chat(String),
    /// Another side than the tokenizer's own for a text in a chat template.
    #[error("a text in the model's chat template is cut on the tokenizer's own side")]
    ChatSide,
    /// One text where a chat template needs two.
    #[error("the model reads a query and a passage in a chat template, and not one text")]
    NoPair,
    /// A token that ends texts was asked for, and the tokenizer has none.
    #[error("the tokenizer has no token that ends a text{}", of_token(.token.as_deref()))]
    NoEnd {
        /// What tokenizer_config.json names, and the vocabulary does not have.
        token: Option<String>,
    },
    /// A text that was read for another model.
    #[error("the text was read for pairs of another model")]
    OfAnotherModel,
}

impl From<FileError> for TokenizerError {
    fn from(error: FileError) -> Self {
        Self::Model(error.into())
    }
}

impl Explain for TokenizerError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Model(error) => return error.remedy(),
            Self::FirstTextTooLong { .. } => {
                let both = Setting::Truncation.to("longest_first");
                remedy!("cut both texts with {}, or raise {}", both, Setting::MaxLength)
            }
            Self::ChatSide => "leave the side out".into(),
            Self::NoPair => "give pairs of texts".into(),
            Self::NoEnd { .. } => "name it in tokenizer_config.json, as \"eos_token\"".into(),
            Self::OfAnotherModel | Self::Chat(_) => return None,
            Self::MaxLength { .. } => remedy!("change {}", Setting::MaxLength),
            Self::Tokenizer(_) => {
                "the tokenizer does not fit its vocabulary: download the model again, or correct tokenizer.json"
                    .into()
            }
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        if let Self::Model(error) = self { error.place() } else { None }
    }
}

fn of_token(token: Option<&str>) -> String {
    token.map_or_else(String::new, |token| format!(": {token:?} is not in its vocabulary"))
}
