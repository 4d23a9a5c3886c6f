//! Checkpoints of PaddlePaddle become model directories, and what cannot be converted is an error that says
//! why.

#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use half::bf16;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use toller_checkpoint::convert::{ConvertError, ConvertOptions, Converted, convert};
use toller_ir::Explain;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn paddle(path: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures/paddle").join(path)
}

fn convert_to(source: &Path, output: &Path) -> std::result::Result<Converted, ConvertError> {
    convert(source, output, &ConvertOptions::default())
}

#[test]
fn what_is_left_out_is_reported() -> Result {
    let folder = tempfile::tempdir()?;
    let reasons = |converted: Converted| -> Vec<(String, &'static str)> {
        converted.left_out.into_iter().map(|left| (left.name, left.reason)).collect()
    };
    let converted = convert_to(&paddle("dygraph"), &folder.path().join("a"))?;
    let head = "a head of pretraining";
    let expected = ["cls.predictions.decoder_bias", "cls.predictions.transform.weight"];
    assert_eq!(reasons(converted), expected.map(|name| (name.to_owned(), head)));
    let converted = convert_to(&paddle("dygraph/tensors.pdparams"), &folder.path().join("b"))?;
    assert_eq!(reasons(converted), ["epoch", "loss"].map(|name| (name.to_owned(), "not a tensor")));
    Ok(())
}

#[test]
fn bf16_stays_bf16() -> Result {
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("model");
    convert_to(&paddle("dygraph/bf16.pdparams"), &output)?;
    let exact = folder.path().join("exact");
    convert_to(&paddle("dygraph"), &exact)?;
    let [tensors, exact] = [output, exact].map(|folder| fs::read(folder.join("model.safetensors")));
    let (tensors, exact) = (tensors?, exact?);
    let exact = SafeTensors::deserialize(&exact)?;
    for (name, tensor) in SafeTensors::deserialize(&tensors)?.iter() {
        assert_eq!(tensor.dtype(), Dtype::BF16, "{name}");
        // Rounded to nearest by Paddle.
        let exact = exact.tensor(name)?;
        let exact = exact.data().as_chunks().0.iter().map(|bytes| bf16::from_f32(f32::from_le_bytes(*bytes)));
        let found = tensor.data().as_chunks().0.iter().map(|bytes| bf16::from_le_bytes(*bytes));
        assert!(found.eq(exact), "{name}");
    }
    Ok(())
}

#[test]
fn both_programs_name_the_cross_encoders_variables() -> Result {
    let folder = tempfile::tempdir()?;
    let mut files = Vec::new();
    for name in ["__params__", "inference.pdiparams"] {
        let output = folder.path().join(name);
        let converted = convert_to(&paddle("cross-encoder").join(name), &output)?;
        assert_eq!(converted.models[0].architecture, "ErnieForSequenceClassification");
        assert_eq!(converted.left_out, []);
        files.push(fs::read(output.join("model.safetensors"))?);
        let config: Value = serde_json::from_slice(&fs::read(output.join("config.json"))?)?;
        assert_eq!(config["id2label"].as_object().map(serde_json::Map::len), Some(2));
        let tensors = SafeTensors::deserialize(&files[files.len() - 1])?;
        assert_eq!(tensors.tensor("classifier.weight")?.shape(), [2, 8]);
        assert_eq!(tensors.tensor("ernie.embeddings.word_embeddings.weight")?.shape(), [32, 8]);
    }
    assert_eq!(files[0], files[1]);
    Ok(())
}

/// Copies files of a fixture into a folder.
fn copy(from: &Path, to: &Path, names: &[&str]) -> Result {
    for name in names {
        fs::copy(from.join(name), to.join(name))?;
    }
    Ok(())
}

#[test]
fn what_is_needed_is_named() -> Result {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("source");
    fs::create_dir(&source)?;
    let output = folder.path().join("output");
    let fails = |expected: &str, options: &ConvertOptions| {
        let error = convert(&source, &output, options).unwrap_err();
        let remedy = error.remedy().map(|remedy| remedy.to_string()).unwrap_or_default();
        assert!(format!("{error} {remedy}").contains(expected), "{error}");
    };
    let options = ConvertOptions::default();
    fails("holds no checkpoint", &options);
    copy(&paddle("cross-encoder"), &source, &["__params__"])?;
    fails("no configuration", &options);
    copy(&paddle("cross-encoder"), &source, &["ernie_config.json"])?;
    fails("no vocabulary", &options);
    copy(&paddle("cross-encoder"), &source, &["vocab.txt"])?;
    fails("no program", &options);
    copy(&paddle("cross-encoder"), &source, &["__model__"])?;
    let wrong = source.join("wrong.json");
    let config = fs::read_to_string(source.join("ernie_config.json"))?;
    for (from, to, expected) in [
        ("\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2", "num_hidden_layers"),
        ("\"vocab_size\": 32", "\"vocab_size\": 33", "vocab_size"),
        ("\"hidden_act\": \"relu\"", "\"hidden_act\": \"mish\"", "mish"),
        ("\"num_attention_heads\": 2", "\"heads\": 2", "num_attention_heads"),
    ] {
        assert!(config.contains(from));
        fs::write(&wrong, config.replace(from, to))?;
        fails(expected, &ConvertOptions { config: Some(wrong.clone()), ..ConvertOptions::default() });
    }
    assert!(!output.exists(), "nothing is written before all is checked");
    convert_to(&source, &output)?;
    fails("not empty", &options);
    Ok(())
}

#[test]
fn missing_and_unexpected_variables_are_errors() -> Result {
    let folder = tempfile::tempdir()?;
    let variables = folder.path().join("checkpoint");
    fs::create_dir(&variables)?;
    for entry in fs::read_dir(paddle("rocketqa/checkpoint"))? {
        let entry = entry?;
        fs::copy(entry.path(), variables.join(entry.file_name()))?;
    }
    copy(&paddle("rocketqa"), folder.path(), &["config.json", "zh_config.json", "zh_vocab.txt"])?;
    let output = folder.path().join("output");
    let attempt = |options: &ConvertOptions| convert(folder.path(), &output, options);
    fs::copy(variables.join("query_sent_embedding"), variables.join("fc_0.w_0"))?;
    let error = attempt(&ConvertOptions::default()).unwrap_err();
    assert!(matches!(&error, ConvertError::Unexpected { names, .. } if *names == ["fc_0.w_0"]), "{error}");
    let allow = ConvertOptions { allow_unexpected: true, ..ConvertOptions::default() };
    fs::rename(variables.join("query_encoder_layer_0_ffn_fc_1.b_0"), folder.path().join("kept"))?;
    let error = attempt(&allow).unwrap_err();
    assert!(
        matches!(&error, ConvertError::Missing { names, .. } if *names == ["encoder.layer.0.output.dense.bias"]),
        "{error}"
    );
    fs::copy(variables.join("query_sent_embedding"), variables.join("query_encoder_layer_0_ffn_fc_1.b_0"))?;
    let error = attempt(&allow).unwrap_err();
    assert!(matches!(error, ConvertError::Variable { .. }), "{error}");
    fs::write(variables.join("query_encoder_layer_0_ffn_fc_1.b_0"), b"no tensor")?;
    let error = attempt(&allow).unwrap_err();
    assert!(matches!(error, ConvertError::Format { .. }), "{error}");
    fs::rename(folder.path().join("kept"), variables.join("query_encoder_layer_0_ffn_fc_1.b_0"))?;
    assert_eq!(attempt(&allow)?.left_out.len(), 2);
    Ok(())
}
