//! Checkpoints of PaddlePaddle, converted, give the embeddings of transformers.

use std::error::Error;
use std::path::{Path, PathBuf};

use toller_checkpoint::convert::{ConvertError, ConvertOptions, Converted, convert};
use toller_encoder::{DualEncoder, LoadOptions, Role};
use toller_nn::Pooling;

use crate::common::{Case, check, lines};

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

/// Checks the embeddings of a role; `cut` is the maximum length that was expected.
fn assert_embeds(model: &DualEncoder, role: Role, name: &str, cut: usize) {
    let cases: Vec<Case> = lines(&paddle("expected").join(format!("{name}.jsonl")));
    let short: Vec<&Case> = cases.iter().filter(|case| case.input_ids.len() < cut).collect();
    assert!(!short.is_empty());
    check(model.tower(role), &short, 1e-5, |case| &case.embedding);
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
        assert_embeds(&model, Role::Passage, "dygraph", usize::MAX);
        fingerprints.push(model.fingerprint().to_owned());
    }
    assert!(fingerprints.iter().all(|fingerprint| *fingerprint == fingerprints[0]));
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
    // The layout gives the first token's state as the vector, and the longest texts.
    let model = DualEncoder::load(&output, &LoadOptions::default())?;
    assert!(!model.tower(Role::Query).pooling_is_assumed());
    assert_eq!(model.tower(Role::Query).max_length(), 16);
    assert_eq!(model.tower(Role::Passage).max_length(), 24);
    assert_embeds(&model, Role::Query, "query", 16);
    assert_embeds(&model, Role::Passage, "para", usize::MAX);
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
    assert_embeds(&model, Role::Query, "query", usize::MAX);
    let options = ConvertOptions { prefix: Some("other_".to_owned()), ..ConvertOptions::default() };
    let error = convert(&paddle("rocketqa"), &folder.path().join("x"), &options).unwrap_err();
    assert!(matches!(error, ConvertError::SeveralEncoders { .. }), "{error}");
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
