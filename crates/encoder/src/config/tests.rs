//! Right and wrong configurations.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Positions, TransformerConfig};
use crate::EncoderError;

fn bert() -> Value {
    json!({
        "model_type": "bert", "vocab_size": 100, "hidden_size": 12, "num_hidden_layers": 2,
        "num_attention_heads": 3, "intermediate_size": 24, "hidden_act": "gelu",
        "max_position_embeddings": 64, "type_vocab_size": 2, "pad_token_id": 0
    })
}

fn read(text: &[u8]) -> Result<TransformerConfig, EncoderError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    fs::write(&path, text).unwrap();
    TransformerConfig::read(&path)
}

fn with(key: &str, value: Value) -> Result<TransformerConfig, EncoderError> {
    let mut config = bert();
    config[key] = value;
    read(config.to_string().as_bytes())
}

#[test]
fn architectures_differ_where_they_do() {
    let config = read(bert().to_string().as_bytes()).unwrap();
    assert_eq!((config.positions, config.longest_input(), config.task_types), (Positions::FromZero, 64, 0));
    let roberta = with("model_type", json!("xlm-roberta")).unwrap();
    assert_eq!((roberta.positions, roberta.longest_input()), (Positions::AfterPadding(0), 63));
    let distilbert = json!({
        "model_type": "distilbert", "vocab_size": 100, "dim": 12, "n_layers": 2, "n_heads": 3,
        "hidden_dim": 24, "activation": "gelu", "max_position_embeddings": 64
    });
    assert_eq!(read(distilbert.to_string().as_bytes()).unwrap().token_types, 0);
    let mut electra = bert();
    electra["model_type"] = json!("electra");
    assert_eq!(read(electra.to_string().as_bytes()).unwrap().embedding, 128);
}

#[test]
fn names_of_another_architecture_mean_nothing() {
    let mut both = bert();
    for (name, value) in [("dim", 99), ("n_layers", 99), ("n_heads", 99), ("hidden_dim", 99)] {
        both[name] = json!(value);
    }
    let config = read(both.to_string().as_bytes()).unwrap();
    assert_eq!((config.hidden, config.layers, config.intermediate), (12, 2, 24));
    both["model_type"] = json!("distilbert");
    let config = read(both.to_string().as_bytes()).unwrap();
    assert_eq!((config.hidden, config.layers, config.intermediate), (99, 99, 99));
}

#[test]
fn what_cannot_be_run_is_named() {
    for (key, value, named) in [
        ("model_type", json!("gemma2"), "gemma2"),
        ("model_type", Value::Null, "model_type"),
        ("position_embedding_type", json!("relative_key"), "relative_key"),
        ("hidden_act", json!("mish"), "mish"),
        ("num_attention_heads", json!(5), "5 heads"),
        ("num_attention_heads", json!(0), "0 heads"),
        ("hidden_size", json!(-1), "config.json"),
        ("is_decoder", json!(true), "decoder"),
    ] {
        let error = with(key, value).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_and_no_values_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), number: i64, text: String, at: prop::sample::Index) {
        let _ = read(&bytes);
        let config = bert();
        let keys: Vec<&String> = config.as_object().unwrap().keys().collect();
        let key = keys[at.index(keys.len())];
        for value in [json!(number), json!(text), json!(null), json!([]), json!({})] {
            let _ = with(key, value);
        }
    }
}
