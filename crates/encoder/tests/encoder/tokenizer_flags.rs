//! Tokenizers without tokenizer.json: token ids under the flags of tokenizer_config.json equal those of
//! transformers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use toller_encoder::{CrossEncoder, CrossEncoderOptions, EncoderError};
use toller_ir::Explain;
use toller_tokenizer::PairTruncation;

use crate::common::{Copy, lines};

#[derive(Deserialize)]
struct Case {
    model: String,
    config: Value,
    texts: BTreeMap<String, Vec<u32>>,
}

fn fixtures() -> PathBuf {
    toller_testing::repository("tests/fixtures/cross-encoders")
}

/// A copy of a fixture with another tokenizer_config.json.
fn with_config(model: &str, config: &Value) -> Copy {
    Copy::of(&fixtures().join(model)).edit("tokenizer_config.json", |file| file.clone_from(config))
}

fn load(folder: &Path) -> Result<CrossEncoder, EncoderError> {
    let options = CrossEncoderOptions {
        label: Some(0),
        truncation: PairTruncation::LongestFirst,
        ..CrossEncoderOptions::default()
    };
    CrossEncoder::load(folder, &options)
}

#[test]
fn flags_mean_what_they_mean_to_transformers() {
    let cases: Vec<Case> = lines(&fixtures().join("flags.jsonl"));
    assert!(cases.len() > 10);
    for Case { model, config, texts } in &cases {
        let folder = with_config(model, config);
        let tokenizer = load(folder.path()).unwrap();
        for (text, ids) in texts {
            let found = tokenizer.tokenize_pair(text, "").unwrap();
            assert_eq!(found.input_ids, *ids, "{model} with {config}: {text:?}");
        }
    }
}

#[test]
fn flags_are_in_the_fingerprint() {
    let fingerprint = |config: Value| {
        let folder = with_config("bert", &config);
        load(folder.path()).unwrap().fingerprint().to_owned()
    };
    let configs = [
        json!({}),
        json!({"do_lower_case": false}),
        json!({"strip_accents": false}),
        json!({"tokenize_chinese_chars": false}),
        json!({"split_special_tokens": true}),
        json!({"mask_token": {"content": "[MASK]", "lstrip": true}}),
        json!({"additional_special_tokens": ["city"]}),
    ];
    let mut fingerprints = configs.map(fingerprint);
    fingerprints.sort();
    assert!(fingerprints.windows(2).all(|pair| pair[0] != pair[1]), "{fingerprints:?}");
    assert_eq!(fingerprint(json!({"model_max_length": 40})), fingerprint(json!({})));
}

#[test]
fn what_is_made_for_other_tokens_is_refused() {
    let error = |config: Value| {
        let folder = with_config("bert", &config);
        load(folder.path()).err().unwrap().to_string()
    };
    assert!(error(json!({"tokenizer_class": "BertJapaneseTokenizer"})).contains("BertJapaneseTokenizer"));
    assert!(error(json!({"word_tokenizer_type": "mecab"})).contains("word_tokenizer_type \"mecab\""));
    // The class may be in config.json. A hint that transformers cannot follow is none.
    for (class, has_hint) in [("BertJapaneseTokenizer", false), ("RoCBertTokenizer", true)] {
        let folder = with_config("bert", &json!({})).set("config.json", "tokenizer_class", json!(class));
        let error = load(folder.path()).err().unwrap();
        assert!(error.to_string().contains(class), "{error}");
        assert_eq!(error.remedy().unwrap().to_string().contains("save_pretrained"), has_hint, "{class}");
    }
    let wrong_id = json!({"added_tokens_decoder": {"999": {"content": "new"}}});
    assert!(error(wrong_id).contains("999"));
    assert!(error(json!({"cls_token": "[NOT THERE]"})).contains("[NOT THERE]"));
}

#[test]
fn damaged_sentencepiece_models_are_errors() {
    let folder = with_config("xlm-roberta", &json!({}));
    let path = folder.path().join("sentencepiece.bpe.model");
    let bytes = fs::read(&path).unwrap();
    for end in [0, 1, 100, bytes.len() - 1] {
        fs::write(&path, &bytes[..end]).unwrap();
        let error = load(folder.path()).err().unwrap().to_string();
        assert!(error.contains("sentencepiece.bpe.model"), "{error}");
    }
    // How another architecture numbers the pieces is not known.
    fs::write(&path, &bytes).unwrap();
    let folder = folder.set("config.json", "model_type", json!("roberta"));
    let error = load(folder.path()).err().unwrap();
    assert!(error.remedy().unwrap().to_string().contains("save_pretrained"), "{error}");
}

/// As in transformers 5.24, which leaves out what `model_input_names` does not have.
#[test]
fn pairs_have_token_types_where_transformers_gives_them() {
    let (with, without) = (json!(["input_ids", "token_type_ids"]), json!(["input_ids", "attention_mask"]));
    let pair = |config: &Value| {
        let model = load(with_config("bert", config).path()).unwrap();
        (model.tokenize_pair("a river", "b c").unwrap(), model.fingerprint().to_owned())
    };
    let (typed, fingerprint) = pair(&json!({}));
    assert!(typed.type_ids.contains(&1));
    for (class, has_types) in [
        ("BertTokenizer", true),
        ("BertTokenizerFast", true),
        ("ElectraTokenizerFast", true),
        ("DistilBertTokenizer", false),
        ("PreTrainedTokenizerFast", false),
        ("TokenizersBackend", false),
    ] {
        for (names, has_types) in [(None, has_types), (Some(&with), true), (Some(&without), false)] {
            let mut config = json!({"tokenizer_class": class});
            if let Some(names) = names {
                config["model_input_names"] = names.clone();
            }
            let (found, own) = pair(&config);
            assert_eq!(found.input_ids, typed.input_ids, "{config}");
            assert_eq!(found.type_ids.contains(&1), has_types, "{config}");
            assert_eq!(own == fingerprint, has_types, "{config}");
        }
    }
    // DistilBERT has no embeddings of types, so nothing depends on them.
    let distilbert = load(&fixtures().join("distilbert")).unwrap();
    let named =
        with_config("distilbert", &json!({"tokenizer_class": "BertTokenizer", "model_max_length": 40}));
    assert_eq!(distilbert.fingerprint(), load(named.path()).unwrap().fingerprint());
}

#[test]
fn a_token_type_without_an_embedding_is_an_error_with_a_hint() {
    let one_type =
        |config: &Value| with_config("bert", config).set("config.json", "type_vocab_size", json!(1));
    let error = load(one_type(&json!({})).path()).err().unwrap();
    assert!(matches!(error, EncoderError::TokenType { token_type: 1, token_types: 1, .. }), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("model_input_names"));
    // Then the weights are wrong: they have two types.
    let error = load(one_type(&json!({"model_input_names": ["input_ids"]})).path()).err().unwrap();
    assert!(error.to_string().contains("token_type_embeddings"), "{error}");
}
