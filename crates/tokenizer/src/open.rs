//! Which files of a folder are its tokenizer.

use std::path::Path;

use serde_json::Value;
use toller_checkpoint::{Fingerprint, ModelError, ModelType, TOKENIZER_FILES, read_file};

use super::TokenizerConfig;
use super::byte_pairs::byte_pairs;
use super::sentence_piece::sentence_piece;
use super::special::Specials;
use super::vocabulary::word_piece;
use crate::TokenizerError;

/// Opens the tokenizer of a folder, with the flags and tokens of `tokenizer_config.json`: `tokenizer.json`,
/// else what older models have: `vocab.txt`, `vocab.json` with `merges.txt`, a SentencePiece model.
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
        "tokenizer.json" => tokenizer_json(&path, config, model_type, fingerprint),
        "vocab.txt" => word_piece(&path, config, model_type, fingerprint),
        "vocab.json" => byte_pairs(&path, config, model_type, fingerprint),
        _ => sentence_piece(&path, config, model_type, fingerprint),
    }
}

/// The library's own format.
fn tokenizer_json(
    path: &Path,
    config: &TokenizerConfig,
    model_type: ModelType,
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
    check_templates(&value["post_processor"]).map_err(problem)?;
    if config.correct_normalizer(&mut tokenizer, model_type).map_err(problem)? {
        fingerprint.value("normalizer", b"by the class");
    }
    if config.correct_prefix(&mut tokenizer) {
        fingerprint.value("prefix", b"corrected");
    }
    if let Some(specials) = Specials::read(config, &[]).beyond(&tokenizer) {
        specials.add_to(&mut tokenizer, path, fingerprint)?;
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};
    use toller_checkpoint::{Fingerprint, ModelType};
    use toller_testing::repository;

    use super::open;
    use crate::{TokenizerConfig, TokenizerError};

    const BERT: ModelType = ModelType::Bert;

    /// The tokens of a text with this tokenizer.json under this configuration, and the fingerprint.
    fn ids(json: &Path, config: &Value, text: &str) -> Result<(Vec<u32>, String), TokenizerError> {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(json, folder.path().join("tokenizer.json")).unwrap();
        fs::write(folder.path().join("tokenizer_config.json"), config.to_string()).unwrap();
        let config = TokenizerConfig::read(folder.path())?;
        let mut fingerprint = Fingerprint::new();
        let tokenizer = open(folder.path(), &config, BERT, &mut fingerprint)?;
        Ok((tokenizer.encode(text, false).unwrap().get_ids().to_vec(), fingerprint.finish()))
    }

    #[test]
    fn flags_overrule_the_file_where_they_do_in_transformers() {
        let bert = repository("tests/fixtures/tiny-bert/tokenizer.json");
        let of = |config: Value| ids(&bert, &config, "A River").unwrap().0;
        let lower = of(json!({}));
        let cased = of(json!({"do_lower_case": false, "tokenizer_class": "BertTokenizerFast"}));
        assert_ne!(cased, lower);
        assert_eq!(of(json!({"do_lower_case": false})), cased);
        for class in ["PreTrainedTokenizerFast", "TokenizersBackend"] {
            assert_eq!(of(json!({"do_lower_case": false, "tokenizer_class": class})), lower, "{class}");
        }
    }

    #[test]
    fn flags_that_are_missing_have_the_defaults_of_the_class() {
        let folder = tempfile::tempdir().unwrap();
        let cased = folder.path().join("cased.json");
        let text = fs::read_to_string(repository("tests/fixtures/tiny-bert/tokenizer.json")).unwrap();
        let mut json: Value = serde_json::from_str(&text).unwrap();
        json["normalizer"] = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": false, "strip_accents": true, "lowercase": false});
        fs::write(&cased, json.to_string()).unwrap();
        let of = |config: Value, text: &str| ids(&cased, &config, text).unwrap();
        let (by_default, fingerprint) = of(json!({}), "A River");
        let explicit = json!({"do_lower_case": true, "tokenize_chinese_chars": true, "strip_accents": null});
        assert_eq!(by_default, of(explicit.clone(), "A River").0);
        assert_eq!(by_default, of(explicit, "a river").0);
        // transformers reads the file as it is for classes that it does not know.
        for class in ["PreTrainedTokenizerFast", "ErnieTokenizer", "NomicBertTokenizer"] {
            let (as_it_is, of_generic) = of(json!({"tokenizer_class": class}), "A River");
            assert_ne!(by_default, as_it_is, "{class}");
            assert_ne!(fingerprint, of_generic, "{class}");
        }
        // Flags without effect are not those that have one.
        let unknown =
            |lower: bool| of(json!({"tokenizer_class": "ErnieTokenizer", "do_lower_case": lower}), "A River");
        assert_eq!(unknown(true).0, unknown(false).0);
        assert_ne!(unknown(true).1, unknown(false).1);
    }

    #[test]
    fn a_blank_before_the_first_word_is_added_as_the_configuration_says() {
        let roberta = repository("tests/fixtures/cross-encoders/roberta");
        let tokenizer = open(
            &roberta,
            &TokenizerConfig::read(&roberta).unwrap(),
            ModelType::Roberta,
            &mut Fingerprint::new(),
        );
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("tokenizer.json");
        tokenizer.unwrap().save(&json, false).unwrap();
        let of = |prefix: bool, class: &str, text: &str| {
            ids(&json, &json!({"add_prefix_space": prefix, "tokenizer_class": class}), text).unwrap()
        };
        let (plain, blank) =
            (of(false, "RobertaTokenizer", "river"), of(false, "RobertaTokenizer", " river"));
        assert_ne!(plain.0, blank.0);
        let prefixed = of(true, "RobertaTokenizerFast", "river");
        assert_eq!(prefixed.0, blank.0);
        assert_ne!(prefixed.1, plain.1);
        assert_eq!(of(true, "PreTrainedTokenizerFast", "river"), plain);
    }

    #[test]
    fn tokens_that_only_the_configuration_has_are_added() {
        let bert = repository("tests/fixtures/tiny-bert/tokenizer.json");
        let of = |added: Value| ids(&bert, &json!({"added_tokens_decoder": added}), "rivers, river");
        let (plain, fingerprint) = of(json!({})).unwrap();
        let vocabulary = tokenizers::Tokenizer::from_file(&bert).unwrap();
        let next = u32::try_from(vocabulary.get_vocab_size(true)).unwrap();
        assert!(!plain.contains(&next));
        let river = json!({"content": "river", "single_word": true, "normalized": true});
        let added = of(json!({next.to_string(): river})).unwrap();
        assert_eq!(added.0.iter().filter(|id| **id == next).count(), 1, "the word alone: {:?}", added.0);
        assert_ne!(added.1, fingerprint);
        assert!(of(json!({"9999": river})).err().unwrap().to_string().contains("9999"));
        // Tokens of the newer form may have names.
        let named =
            |extra: Value| ids(&bert, &json!({"extra_special_tokens": extra}), "rivers, river").unwrap().0;
        assert_eq!(named(json!({"stream": "rivers"})), named(json!(["rivers"])));
        assert_ne!(named(json!({"stream": "rivers"})), plain);
        // What the file has already changes nothing, whatever its number.
        let known = json!({"9999": {"content": "[MASK]", "special": true}});
        assert_eq!(of(known).unwrap(), (plain, fingerprint));
    }
}
