//! The tokenizer of a model without the model, for retrieval by the tokens themselves.

use std::path::Path;

use toller_checkpoint::ModelError;

use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::layout::Layout;
use toller_checkpoint::Fingerprint;
use toller_tokenizer::{Tokenizer, TokenizerConfig};

/// A tokenizer of BERT's kind that gives the tokens of a text by name (`play`, `##ing`), all of them, without special ones.
pub struct TextTokenizer {
    tokenizer: Tokenizer,
    /// By id. Ids that no token has are empty.
    names: Vec<String>,
}

impl TextTokenizer {
    /// Loads the tokenizer of a model's directory.
    ///
    /// # Errors
    /// Files that are missing or cannot be read; [`ModelError::Unsupported`] if the tokenizer is not of BERT's kind.
    pub fn load(directory: &Path) -> Result<Self, EncoderError> {
        let layout = Layout::read(directory)?;
        let folder = &layout.transformer;
        let config = TransformerConfig::read(&folder.join("config.json"))?;
        let tokenizer_config = TokenizerConfig::read(folder)?;
        let tokenizer = Tokenizer::load(
            folder,
            &tokenizer_config,
            u32::MAX as usize,
            layout.lowercase,
            &config.model_type,
            &mut Fingerprint::new(),
        )?;
        let names = tokenizer.word_pieces().ok_or_else(|| ModelError::Unsupported {
            path: folder.clone(),
            what: "a tokenizer that is not BERT's".to_owned(),
            supported: "BERT's tokenizer: BertNormalizer, BertPreTokenizer, WordPiece".to_owned(),
        })?;
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
