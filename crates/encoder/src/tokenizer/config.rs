//! tokenizer_config.json.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::{NormalizerWrapper, TruncationDirection};
use toller_files::FileError;

use crate::EncoderError;

/// tokenizer_config.json, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct TokenizerConfig {
    pub(super) do_lower_case: Option<bool>,
    pub(super) strip_accents: Option<bool>,
    pub(super) tokenize_chinese_chars: Option<bool>,
    model_max_length: Option<f64>,
    truncation_side: Option<String>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

impl TokenizerConfig {
    /// Reads `tokenizer_config.json` of a folder; nothing is set where there is none.
    pub(crate) fn read(folder: &Path) -> Result<Self, EncoderError> {
        let path = folder.join("tokenizer_config.json");
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path).map_err(FileError::on("read", &path))?;
        serde_json::from_str(&text)
            .map_err(|error| EncoderError::Config { problem: error.to_string(), path: path.clone() })
    }

    /// The longest input, special tokens included, where the configuration has a real one: "unlimited" is
    /// written as a number of thirty digits.
    pub(crate) fn max_length(&self) -> Option<usize> {
        self.model_max_length.filter(|&length| (1.0..1e9).contains(&length)).map(|length| length as usize)
    }

    /// The side on which texts are cut.
    pub(super) fn truncation_direction(&self, folder: &Path) -> Result<TruncationDirection, EncoderError> {
        match self.truncation_side.as_deref() {
            None | Some("right") => Ok(TruncationDirection::Right),
            Some("left") => Ok(TruncationDirection::Left),
            Some(other) => Err(EncoderError::Config {
                path: folder.join("tokenizer_config.json"),
                problem: format!("truncation_side is {other:?}, neither \"left\" nor \"right\""),
            }),
        }
    }

    /// Lets the flags overrule the normalizer of a `tokenizer.json`, as transformers does for BERT.
    pub(super) fn correct_normalizer(&self, tokenizer: &mut tokenizers::Tokenizer) -> Result<(), String> {
        let Some(NormalizerWrapper::BertNormalizer(normalizer)) = tokenizer.get_normalizer() else {
            return Ok(());
        };
        let corrected = BertNormalizer::new(
            normalizer.clean_text,
            self.tokenize_chinese_chars.unwrap_or(normalizer.handle_chinese_chars),
            self.strip_accents.or(normalizer.strip_accents),
            self.do_lower_case.unwrap_or(normalizer.lowercase),
        );
        tokenizer.with_normalizer(Some(corrected)).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The text of a special token, written as a string or as an object.
    pub(super) fn special(&self, name: &str, default: &str) -> String {
        let value = self.other.get(name);
        let text = value.and_then(|value| value.as_str().or_else(|| value.get("content")?.as_str()));
        text.unwrap_or(default).to_owned()
    }
}
