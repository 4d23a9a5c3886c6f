//! The tokenizer of a model without the model, for retrieval by the tokens themselves.

use std::path::Path;

use toller_checkpoint::{Fingerprint, ModelError};
use toller_tokenizer::Tokenizer;

use crate::config::TransformerConfig;
use crate::layout::Layout;
use crate::{EncoderError, Role};

/// A tokenizer of BERT's kind that gives all tokens of a text by name (`play`, `##ing`), without special
/// tokens.
pub struct TextTokenizer {
    tokenizer: Tokenizer,
    /// By id. Ids that no token has are empty.
    names: Vec<String>,
}

impl TextTokenizer {
    /// Loads the tokenizer of a model's directory.
    ///
    /// # Errors
    /// Files that are missing or cannot be read; [`ModelError::Unsupported`] if the tokenizer is not of
    /// BERT's kind.
    pub fn load(directory: &Path) -> Result<Self, EncoderError> {
        let layout = Layout::read(directory, Role::Passage)?;
        let folder = &layout.transformer;
        let config = TransformerConfig::read(&folder.join("config.json"))?;
        let tokenizer = layout.tokenizer(None, &config, &mut Fingerprint::new())?;
        let supported = "BERT's tokenizer: BertNormalizer, BertPreTokenizer, WordPiece";
        let unsupported = || ModelError::unsupported(folder, "a tokenizer that is not BERT's", supported);
        let names = tokenizer.word_pieces().ok_or_else(unsupported)?;
        Ok(Self { tokenizer, names })
    }

    /// Calls `each` with every token of `text`, in order.
    ///
    /// # Errors
    /// [`EncoderError::Tokenizer`], for which WordPiece has no reason.
    pub fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) -> Result<(), EncoderError> {
        for id in self.tokenizer.all_ids(text)? {
            if let Some(name) = self.names.get(id as usize).filter(|name| !name.is_empty()) {
                each(name);
            }
        }
        Ok(())
    }
}
