//! The weights of every form of file are the same parameters, before and after they are written.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use toller_checkpoint::{Fingerprint, ModelError, Parameters, Tensor};
use toller_ir::Explain;

const WORDS: &str = "embeddings.word_embeddings.weight";
const NORM: &str = "embeddings.LayerNorm";

/// A tensor by its name, shape and bits.
type Named = (String, Vec<usize>, Vec<u32>);

/// Takes every tensor that holds floats, norms under the names of today.
fn take_all(parameters: &Parameters) -> Vec<Named> {
    let prefix = parameters.prefix();
    let names: Vec<&str> = parameters.names().filter_map(|name| name.strip_prefix(prefix)).collect();
    for name in names {
        match name.rsplit_once('.') {
            Some((norm, "weight" | "gamma")) if norm.ends_with("LayerNorm") => {
                parameters.get_norm(norm, "weight", 32).unwrap();
            }
            Some((norm, "bias" | "beta")) if norm.ends_with("LayerNorm") => {
                parameters.get_norm(norm, "bias", 32).unwrap();
            }
            _ => {
                let Err(ModelError::TensorShape { found, .. }) = parameters.get(name, &[0]) else {
                    panic!("{name}")
                };
                parameters.get(name, &found).unwrap();
            }
        }
    }
    named(parameters)
}

fn named(parameters: &Parameters) -> Vec<Named> {
    let bits = |tensor: &Tensor| tensor.values().iter().map(|value| value.to_bits()).collect();
    let named = parameters.named().map(|named| {
        let (name, tensor) = named.unwrap();
        (name, tensor.shape().to_vec(), bits(&tensor))
    });
    named.collect()
}

fn fingerprint(parameters: &Parameters) -> String {
    let mut fingerprint = Fingerprint::new();
    for named in parameters.named() {
        let (name, tensor) = named.unwrap();
        fingerprint.tensor(&name, &tensor);
    }
    fingerprint.finish()
}

fn open(folder: &Path) -> Parameters {
    Parameters::open(folder).unwrap().find_prefix(WORDS).unwrap()
}

#[test]
fn every_form_is_written_and_read_as_the_same_parameters() {
    let fixtures = toller_testing::repository("tests/fixtures");
    let first = open(&fixtures.join("tiny-bert"));
    let expected = take_all(&first);
    assert!(expected.len() > 30 && first.unused().is_empty());
    for form in ["tiny-bert", "tiny-bert-pickle", "tiny-bert-shards", "tiny-bert-before-1.6"] {
        let read = open(&fixtures.join(form));
        assert_eq!(take_all(&read), expected, "{form}");
        let folder = tempfile::tempdir().unwrap();
        read.write(&folder.path().join("model.safetensors")).unwrap();
        let again = open(folder.path());
        assert_eq!(again.prefix(), "");
        assert_eq!(take_all(&again), expected, "{form}");
        assert_eq!(fingerprint(&again), fingerprint(&first), "{form}");
    }
}

fn tensor(shape: &[usize], first: f32) -> Tensor {
    let count = shape.iter().product();
    let values = (0..count).map(|at: usize| first + at as f32);
    Tensor::new(shape.to_vec(), values.collect()).unwrap()
}

fn in_memory(tensors: &[(&str, Tensor)]) -> Parameters {
    let tensors = tensors.iter().map(|(name, tensor)| ((*name).to_owned(), tensor.clone()));
    Parameters::from_tensors("memory", tensors)
}

#[test]
fn names_are_canonical_whatever_the_file_calls_them() {
    let words = tensor(&[3, 2], 0.0);
    let parameters = in_memory(&[
        ("ctx_encoder.bert_model.embeddings.word_embeddings.weight", words.clone()),
        ("ctx_encoder.bert_model.embeddings.LayerNorm.gamma", tensor(&[2], 1.0)),
        ("ctx_encoder.bert_model.embeddings.LayerNorm.beta", tensor(&[2], 2.0)),
        ("ctx_encoder.bert_model.embeddings.position_ids", tensor(&[2], 0.0)),
        ("ctx_encoder.bert_model.pooler.dense.bias", tensor(&[2], 0.0)),
        ("ctx_encoder.bert_model.other", tensor(&[2], 0.0)),
        ("ctx_encoder.encode_proj.weight", tensor(&[1, 2], 3.0)),
        ("ctx_encoder.linear.weight", tensor(&[1, 2], 0.0)),
        ("cls.predictions.bias", tensor(&[2], 0.0)),
        ("clsx.weight", tensor(&[2], 0.0)),
    ]);
    let parameters = parameters.find_prefix(WORDS).unwrap();
    parameters.get(WORDS, &[3, 2]).unwrap();
    assert_eq!(parameters.get_norm(NORM, "weight", 2).unwrap().values(), [1.0, 2.0]);
    parameters.get_norm(NORM, "bias", 2).unwrap();
    parameters.get_by_full_name("ctx_encoder.encode_proj.weight", &[1, 2]).unwrap();
    let names: Vec<String> = named(&parameters).into_iter().map(|(name, ..)| name).collect();
    let expected = ["embeddings.LayerNorm.bias", "embeddings.LayerNorm.weight", WORDS, "encode_proj.weight"];
    assert_eq!(names, expected);
    assert_eq!(parameters.unused(), ["embeddings.position_ids", "other", "pooler.dense.bias"]);
    assert_eq!(parameters.unexpected(), ["clsx.weight", "other", "linear.weight"]);
    let outside = parameters.outside();
    assert_eq!(outside.prefix(), "ctx_encoder.");
    assert!(outside.has("encode_proj.weight") && !outside.has(WORDS));
    let folder = tempfile::tempdir().unwrap();
    outside.write(&folder.path().join("model.safetensors")).unwrap();
    let again = open(folder.path());
    assert_eq!(again.names().collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    assert_eq!(again.get(WORDS, &[3, 2]).unwrap().values(), words.values());
}

#[test]
fn rows_are_read_alone() {
    let shape = [320, 32];
    for form in ["tiny-bert", "tiny-bert-pickle", "tiny-bert-shards"] {
        let parameters = open(&toller_testing::repository("tests/fixtures").join(form));
        let all = parameters.get(WORDS, &shape).unwrap();
        let rows = parameters.rows(WORDS, shape, &[319, 0, 7]).unwrap();
        assert_eq!(rows.shape(), [3, 32], "{form}");
        let expected: Vec<f32> =
            [319, 0, 7].into_iter().flat_map(|row| all.values()[row * 32..][..32].to_vec()).collect();
        assert_eq!(rows.values(), expected, "{form}");
        let error = |rows| parameters.rows(WORDS, shape, rows).err().unwrap().to_string();
        assert!(error(&[0, 320]).contains("no row 320 among 320"), "{}", error(&[320]));
        assert!(matches!(parameters.rows(WORDS, [320, 16], &[0]), Err(ModelError::TensorShape { .. })));
        assert!(matches!(parameters.rows("other", shape, &[0]), Err(ModelError::MissingTensor { .. })));
    }
    let values = vec![1.0, f32::NAN, 3.0, 4.0];
    let parameters = in_memory(&[("m", Tensor::new(vec![2, 2], values).unwrap())]);
    assert_eq!(parameters.rows("m", [2, 2], &[1, 1]).unwrap().values(), [3.0, 4.0, 3.0, 4.0]);
    let error = |row| parameters.rows("m", [2, 2], &[row]).err().unwrap().to_string();
    assert!(error(0).contains("not finite") && error(2).contains("no row 2"), "{} {}", error(0), error(2));
}

#[test]
fn what_is_no_parameter_is_an_error() {
    let nan = Tensor::new(vec![2], vec![f32::NAN, 1.0]).unwrap();
    let large = Tensor::new(vec![2], vec![3e38, 3e38]).unwrap();
    let parameters =
        in_memory(&[("nan", nan), ("large", large), ("a.b", tensor(&[2], 0.0)), ("b", tensor(&[2], 0.0))]);
    let error = |name, shape: &[usize]| parameters.get(name, shape).err().unwrap().to_string();
    assert!(error("nan", &[2]).contains("not finite"));
    assert!(parameters.get("large", &[2]).is_ok());
    assert!(error("large", &[1, 2]).contains("[1, 2]"));
    assert!(error("none", &[2]).contains("no tensor \"none\""));
    assert_eq!(parameters.named().count(), 1);
    assert!(parameters.find_prefix("b").err().unwrap().to_string().contains("two encoders"));
}

#[test]
fn types_that_are_not_read_are_named() {
    let header = br#"{"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}"#;
    let folder = tempfile::tempdir().unwrap();
    let file = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 2]].concat();
    fs::write(folder.path().join("model.safetensors"), file).unwrap();
    let error = Parameters::open(folder.path()).unwrap().get("a", &[2]).err().unwrap();
    assert!(error.to_string().ends_with("tensor \"a\" of F8_E4M3 is not supported"), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("16 to 64 bits"));
}

#[test]
fn numbers_that_are_not_aligned_are_read() {
    let header = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    for padding in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let header = [&header[..], &vec![b' '; padding]].concat();
        let numbers: Vec<u8> = [1.5f32, -2.0].into_iter().flat_map(f32::to_le_bytes).collect();
        let file = [&(header.len() as u64).to_le_bytes(), &header[..], &numbers].concat();
        fs::write(folder.path().join("model.safetensors"), file).unwrap();
        let parameters = Parameters::open(folder.path()).unwrap();
        assert_eq!(parameters.get("a", &[2]).unwrap().values(), [1.5, -2.0]);
    }
}

#[test]
fn what_does_not_change_is_written_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let tensor = |values: &[f32]| Tensor::new(vec![values.len()], values.to_vec()).unwrap();
    let tensors = [("used", [1.0, 2.0]), ("unused", [f32::NAN, f32::INFINITY])];
    let tensors = tensors.map(|(name, values)| (name.to_owned(), tensor(&values)));
    let parameters = Parameters::from_tensors(folder.path(), tensors);
    let path = folder.path().join("model.safetensors");
    parameters.write_changed(&path, &[("used".to_owned(), tensor(&[3.0, 4.0]))].into()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let values = [f32::NAN, f32::INFINITY, 3.0, 4.0].map(f32::to_le_bytes).concat();
    assert!(bytes.ends_with(&values), "in the order of the names");
    // What is used must be finite.
    let written = Parameters::of_file(&path).unwrap();
    assert!(written.get("used", &[2]).is_ok());
    assert!(written.get("unused", &[2]).err().unwrap().to_string().contains("not finite"));
}
