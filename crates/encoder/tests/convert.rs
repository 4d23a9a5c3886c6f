//! Checkpoints that PaddlePaddle wrote, converted, embed as transformers has it.

#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toller_checkpoint::convert::{ConvertError, ConvertOptions, Converted, convert};
use toller_encoder::{DualEncoder, LoadOptions, Role};
use toller_nn::Pooling;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn fixtures() -> PathBuf {
    toller_testing::repository("tests/fixtures")
}

fn paddle(path: &str) -> PathBuf {
    fixtures().join("paddle").join(path)
}

fn convert_to(source: &Path, output: &Path) -> std::result::Result<Converted, ConvertError> {
    convert(source, output, &ConvertOptions::default())
}

fn cls() -> LoadOptions {
    LoadOptions { pooling: Some(Pooling::Cls.into()), ..LoadOptions::default() }
}

/// A row of an `expected` file: text, token ids, embedding.
type Row = (String, Vec<u32>, Vec<f64>);

fn expected(name: &str) -> Result<Vec<Row>> {
    let rows = fs::read_to_string(paddle("expected").join(format!("{name}.jsonl")))?;
    let row = |line: &str| {
        let value: Value = serde_json::from_str(line)?;
        let text = value["text"].as_str().ok_or("no text")?.to_owned();
        Ok((
            text,
            serde_json::from_value(value["input_ids"].clone())?,
            serde_json::from_value(value["embedding"].clone())?,
        ))
    };
    rows.lines().map(row).collect()
}

/// Checks the embeddings of a role; `cut` is the maximum length that was expected.
fn assert_embeds(model: &DualEncoder, role: Role, name: &str, cut: usize, tolerance: f64) -> Result {
    for (text, ids, expected) in expected(name)? {
        let tokens = model.tower(role).tokenize(&text)?;
        if ids.len() >= cut {
            continue;
        }
        assert_eq!(tokens.input_ids, ids, "{text:?}");
        let found = model.tower(role).encode(&[tokens])?;
        let difference: f64 = found.iter().zip(&expected).map(|(&a, b)| (f64::from(a) - b).powi(2)).sum();
        let norm: f64 = expected.iter().map(|x| x * x).sum();
        assert!((difference / norm).sqrt() <= tolerance, "{name} {text:?}: {}", (difference / norm).sqrt());
    }
    Ok(())
}

#[test]
fn every_form_of_a_paddlenlp_pickle_is_the_same_model() -> Result {
    let folder = tempfile::tempdir()?;
    let mut fingerprints = Vec::new();
    for name in ["model_state.pdparams", "protocol-2.pdparams", "tensors.pdparams", "large.pdparams"] {
        let output = folder.path().join(name);
        let converted = convert_to(&paddle("dygraph").join(name), &output)?;
        assert_eq!(converted.models[0].architecture, "ErnieModel");
        assert_eq!(converted.models[0].tensors, 6 + 2 * 16 + 2);
        let model = DualEncoder::load(&output, &LoadOptions { max_length: Some(24), ..cls() })?;
        assert_embeds(&model, Role::Passage, "dygraph", usize::MAX, 1e-5)?;
        fingerprints.push(model.fingerprint().to_owned());
    }
    assert!(fingerprints.iter().all(|fingerprint| *fingerprint == fingerprints[0]));
    Ok(())
}

#[test]
fn what_is_left_out_is_told() -> Result {
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
    let tensors =
        candle_core::safetensors::load(output.join("model.safetensors"), &candle_core::Device::Cpu)?;
    assert!(tensors.values().all(|tensor| tensor.dtype() == candle_core::DType::BF16));
    let exact = folder.path().join("exact");
    convert_to(&paddle("dygraph"), &exact)?;
    let exact = candle_core::safetensors::load(exact.join("model.safetensors"), &candle_core::Device::Cpu)?;
    for (name, tensor) in &tensors {
        // Rounded to nearest by Paddle as by candle.
        let rounded = exact[name].to_dtype(candle_core::DType::BF16)?.to_dtype(candle_core::DType::F32)?;
        let difference =
            (rounded - tensor.to_dtype(candle_core::DType::F32)?)?.abs()?.flatten_all()?.max(0)?;
        assert_eq!(difference.to_scalar::<f32>()?, 0.0, "{name}");
    }
    Ok(())
}

#[test]
fn rocketqas_variables_become_two_towers() -> Result {
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("model");
    let converted = convert_to(&paddle("rocketqa"), &output)?;
    let directories: Vec<_> = converted.models.iter().map(|model| model.directory.clone()).collect();
    assert_eq!(directories, [output.join("question_encoder"), output.join("ctx_encoder")]);
    assert_eq!(converted.left_out.len(), 1, "{:?}", converted.left_out);
    // The layout says that the first token's state is the vector, and how long texts may be.
    let model = DualEncoder::load(&output, &LoadOptions::default())?;
    assert!(!model.tower(Role::Query).pooling_is_assumed());
    assert_eq!(model.tower(Role::Query).max_length(), 16);
    assert_eq!(model.tower(Role::Passage).max_length(), 24);
    assert_embeds(&model, Role::Query, "query", 16, 1e-5)?;
    assert_embeds(&model, Role::Passage, "para", usize::MAX, 1e-5)?;
    Ok(())
}

#[test]
fn one_tower_can_be_chosen() -> Result {
    let folder = tempfile::tempdir()?;
    let options = ConvertOptions { prefix: Some("query_".to_owned()), ..ConvertOptions::default() };
    let converted = convert(&paddle("rocketqa"), folder.path(), &options)?;
    assert_eq!(converted.models.len(), 1);
    assert!(converted.left_out.iter().any(|left| left.name == "titlepara_word_embedding"));
    let model = DualEncoder::load(folder.path(), &LoadOptions::default())?;
    assert_embeds(&model, Role::Query, "query", usize::MAX, 1e-5)?;
    let options = ConvertOptions { prefix: Some("other_".to_owned()), ..ConvertOptions::default() };
    let error = convert(&paddle("rocketqa"), &folder.path().join("x"), &options).unwrap_err();
    assert!(matches!(error, ConvertError::SeveralEncoders { .. }), "{error}");
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
        let tensors =
            candle_core::safetensors::load(output.join("model.safetensors"), &candle_core::Device::Cpu)?;
        assert_eq!(tensors["classifier.weight"].dims(), [2, 8]);
        assert_eq!(tensors["ernie.embeddings.word_embeddings.weight"].dims(), [32, 8]);
    }
    assert_eq!(files[0], files[1]);
    Ok(())
}

#[test]
fn old_pytorch_files_are_read_and_converted() -> Result {
    let source = fixtures().join("tiny-bert-before-1.6");
    let folder = tempfile::tempdir()?;
    convert_to(&source, folder.path())?;
    assert!(folder.path().join("model.safetensors").is_file());
    assert!(!folder.path().join("pytorch_model.bin").exists());
    let options = LoadOptions::default();
    let plain = DualEncoder::load(&fixtures().join("tiny-bert"), &options)?;
    let old = DualEncoder::load(&source, &options)?;
    let converted = DualEncoder::load(folder.path(), &options)?;
    assert_eq!(old.fingerprint(), plain.fingerprint());
    assert_eq!(converted.fingerprint(), plain.fingerprint());
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
        assert!(format!("{error} {}", error.hint().unwrap_or_default()).contains(expected), "{error}");
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
