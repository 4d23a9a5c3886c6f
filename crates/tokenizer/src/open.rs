//! Which files of a folder are its tokenizer.

use std::path::Path;

use serde_json::Value;
use toller_checkpoint::{Fingerprint, ModelError, ModelType, TOKENIZER_FILES, read_file};

use super::TokenizerConfig;
use super::byte_pairs::byte_pairs;
use super::sentence_piece::sentence_piece;
use super::vocabulary::word_piece;
use crate::TokenizerError;

/// Opens the tokenizer of a folder: `tokenizer.json`, else what older models have, with the flags of
/// `tokenizer_config.json`: `vocab.txt`, `vocab.json` with `merges.txt`, a SentencePiece model.
pub(super) fn open(
    folder: &Path,
    config: &TokenizerConfig,
    model_type: ModelType,
    fingerprint: &mut Fingerprint,
) -> Result<tokenizers::Tokenizer, TokenizerError> {
    let file = TOKENIZER_FILES.into_iter().find(|name| folder.join(name).is_file());
    let Some(name) = file else {
        return Err(ModelError::MissingFile {
            directory: folder.to_owned(),
            missing: "tokenizer.json or vocab.txt".to_owned(),
        }
        .into());
    };
    let path = folder.join(name);
    match name {
        "tokenizer.json" => tokenizer_json(&path, config, fingerprint),
        "vocab.txt" => word_piece(&path, config, model_type, fingerprint),
        "vocab.json" => byte_pairs(&path, config, fingerprint),
        _ => sentence_piece(&path, config, model_type, fingerprint),
    }
}

/// The library's own format.
fn tokenizer_json(
    path: &Path,
    config: &TokenizerConfig,
    fingerprint: &mut Fingerprint,
) -> Result<tokenizers::Tokenizer, TokenizerError> {
    let bytes = read_file(path)?;
    let problem = |problem: String| ModelError::Config { problem, path: path.to_owned() };
    // First: the library panics on text that is not JSON in the place of a decoder.
    let mut value: Value = serde_json::from_slice(&bytes).map_err(|error| problem(error.to_string()))?;
    if value.get("model").is_none() {
        return Err(problem("the field \"model\" is missing".to_owned()).into());
    }
    let mut tokenizer =
        tokenizers::Tokenizer::from_bytes(&bytes).map_err(|error| problem(error.to_string()))?;
    if let Some(fields) = value.as_object_mut() {
        // Neither is used: texts are not padded, and truncated to the length that is asked for.
        fields.remove("truncation");
        fields.remove("padding");
    }
    fingerprint.json("tokenizer.json", &value);
    config.correct_normalizer(&mut tokenizer).map_err(problem)?;
    check_templates(&value["post_processor"]).map_err(problem)?;
    Ok(tokenizer)
}

/// Checks that the special tokens that templates name are described. The library panics where one is not.
fn check_templates(processor: &Value) -> Result<(), String> {
    for below in processor["processors"].as_array().into_iter().flatten() {
        check_templates(below)?;
    }
    let templates = ["single", "pair"].into_iter().flat_map(|name| processor[name].as_array()).flatten();
    for token in templates.filter_map(|piece| piece["SpecialToken"]["id"].as_str()) {
        if processor["special_tokens"].get(token).is_none() {
            return Err(format!(
                "the template has the token {token:?}, which `special_tokens` does not describe"
            ));
        }
    }
    Ok(())
}
