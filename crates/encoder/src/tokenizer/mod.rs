//! From text to token ids, as Hugging Face's tokenizers do it.

mod config;
mod vocabulary;

use std::path::Path;

use serde_json::Value;
use tokenizers::{PostProcessor, TruncationParams, TruncationStrategy};
use toller_files::FileError;

pub(crate) use self::config::TokenizerConfig;
use self::vocabulary::word_piece;
use crate::EncoderError;
use crate::batch::Tokens;
use crate::fingerprint::Fingerprint;

/// A tokenizer that truncates to a maximum length and never pads.
pub(crate) struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// Whether texts are lower-cased first (`do_lower_case` of sentence_bert_config.json).
    lowercase: bool,
}

impl Tokenizer {
    /// Loads the tokenizer of a folder: `tokenizer.json`, else BERT's `vocab.txt` with the flags of
    /// `tokenizer_config.json`. Texts are truncated to `max_length` tokens, special tokens included.
    pub(crate) fn load(
        folder: &Path,
        config: &TokenizerConfig,
        max_length: usize,
        lowercase: bool,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, EncoderError> {
        let json = folder.join("tokenizer.json");
        let vocabulary = folder.join("vocab.txt");
        let mut inner = if json.is_file() {
            let bytes = std::fs::read(&json).map_err(FileError::on("read", &json))?;
            let problem = |problem: String| EncoderError::Config { problem, path: json.clone() };
            let mut tokenizer =
                tokenizers::Tokenizer::from_bytes(&bytes).map_err(|error| problem(error.to_string()))?;
            let mut value: Value =
                serde_json::from_slice(&bytes).map_err(|error| problem(error.to_string()))?;
            if let Some(fields) = value.as_object_mut() {
                // Neither is used: texts are not padded, and truncated to the length that is asked for.
                fields.remove("truncation");
                fields.remove("padding");
            }
            fingerprint.json("tokenizer.json", &value);
            config.correct_normalizer(&mut tokenizer).map_err(problem)?;
            tokenizer
        } else if vocabulary.is_file() {
            word_piece(&vocabulary, config, fingerprint)?
        } else {
            return Err(missing_tokenizer(folder));
        };
        let direction = config.truncation_direction(folder)?;
        let flags = [config.do_lower_case, config.strip_accents, config.tokenize_chinese_chars];
        fingerprint
            .value("tokenizer flags", format!("{lowercase} {flags:?} {}", direction.as_ref()).as_bytes());
        inner.with_padding(None);
        let special = inner.get_post_processor().map_or(0, |processor| processor.added_tokens(false));
        if max_length <= special {
            return Err(EncoderError::MaxLength {
                asked: max_length,
                reason: format!("{special} of them are special tokens, so nothing is left for the text"),
            });
        }
        let truncation =
            TruncationParams { max_length, strategy: TruncationStrategy::LongestFirst, direction, stride: 0 };
        inner
            .with_truncation(Some(truncation))
            .map_err(|error| EncoderError::Tokenizer(error.to_string()))?;
        Ok(Self { inner, lowercase })
    }

    /// The tokens of a text, special tokens included.
    pub(crate) fn encode(&self, text: &str) -> Result<Tokens, EncoderError> {
        let lowered;
        let text = if self.lowercase {
            lowered = text.to_lowercase();
            &lowered
        } else {
            text
        };
        let encoding =
            self.inner.encode_fast(text, true).map_err(|error| EncoderError::Tokenizer(error.to_string()))?;
        Ok(Tokens { input_ids: encoding.get_ids().to_vec(), type_ids: encoding.get_type_ids().to_vec() })
    }
}

fn missing_tokenizer(folder: &Path) -> EncoderError {
    for name in ["sentencepiece.bpe.model", "spiece.model", "vocab.json"] {
        let path = folder.join(name);
        if path.is_file() {
            return EncoderError::Unsupported {
                path,
                what: format!("a tokenizer that is only there as {name}"),
                supported: "tokenizer.json, vocab.txt; transformers writes the former: \
                            AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"
                    .to_owned(),
            };
        }
    }
    EncoderError::MissingFile {
        directory: folder.to_owned(),
        missing: "tokenizer.json or vocab.txt".to_owned(),
    }
}
