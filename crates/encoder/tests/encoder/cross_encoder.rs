//! Cross-encoders against Hugging Face transformers in float64: ids identical, logits to 1e-5, the same bits
//! in every batch.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use toller_encoder::{
    CrossEncoder, CrossEncoderOptions, DualEncoder, EncoderError, LoadOptions, ScoreActivation,
};
use toller_ir::Explain;
use toller_tokenizer::{PairTruncation, TokenizerError, Tokens};

use crate::common::{Copy, lines};

#[derive(Deserialize)]
struct Case {
    query: String,
    passage: String,
    input_ids: Vec<u32>,
    type_ids: Vec<u32>,
    logits: Vec<f64>,
}

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures").join(name)
}

fn golden(name: &str) -> Option<PathBuf> {
    toller_testing::shared(&format!("golden/{name}"))
}

fn cases(folder: &Path) -> Vec<Case> {
    lines(&folder.join("expected.jsonl"))
}

pub(crate) fn check(folder: &Path, options: &CrossEncoderOptions) {
    let model = CrossEncoder::load(folder, options).unwrap();
    assert!(model.unexpected_tensors().is_empty(), "{:?}", model.unexpected_tensors());
    let cases = cases(folder);
    assert!(cases.len() > 10);
    let pairs: Vec<Tokens> =
        cases.iter().map(|case| model.tokenize_pair(&case.query, &case.passage).unwrap()).collect();
    for (case, pair) in cases.iter().zip(&pairs) {
        assert_eq!(pair.input_ids, case.input_ids, "{:?} and {:?}", case.query, case.passage);
        assert_eq!(pair.type_ids, case.type_ids, "{:?} and {:?}", case.query, case.passage);
    }
    let labels = model.labels().len();
    let logits = model.logits(&pairs).unwrap();
    assert_eq!(logits.len(), pairs.len() * labels);
    // A logit close to zero is a difference of larger terms, and its error comes from their rounding. So
    // errors are relative to the largest logit.
    let largest =
        cases.iter().flat_map(|case| &case.logits).fold(0f64, |largest, logit| largest.max(logit.abs()));
    for ((case, pair), got) in cases.iter().zip(&pairs).zip(logits.chunks_exact(labels)) {
        for (&found, expected) in got.iter().zip(&case.logits) {
            let error = (f64::from(found) - expected).abs() / largest;
            assert!(error <= 1e-5, "relative error {error:e}: {got:?}, {:?} in float64", case.logits);
        }
        assert_eq!(model.logits(std::slice::from_ref(pair)).unwrap(), got, "alone as among the others");
    }
    // Any batches, any order.
    let small = CrossEncoder::load(folder, &CrossEncoderOptions { batch_tokens: Some(1), ..options.clone() })
        .unwrap();
    let reversed: Vec<Tokens> = pairs.iter().rev().cloned().collect();
    let mut scores = small.score(&reversed).unwrap();
    scores.reverse();
    assert_eq!(scores, model.score(&pairs).unwrap());
}

macro_rules! golden {
    ($($test:ident: $name:literal, $max_length:literal;)*) => {$(
        #[test]
        fn $test() {
            let Some(folder) = golden($name) else { return };
            check(&folder, &CrossEncoderOptions { max_length: Some($max_length), ..CrossEncoderOptions::default() });
        }
    )*};
}

golden! {
    bert_with_one_label: "bert-ce", 384;
    ernie_with_two_labels: "ernie-ce", 384;
    xlm_roberta_with_one_label: "xlmr-ce", 512;
}

macro_rules! fixtures {
    ($($test:ident: $name:literal, $label:expr;)*) => {$(
        #[test]
        fn $test() {
            let options = CrossEncoderOptions { label: $label, ..CrossEncoderOptions::default() };
            check(&fixture(concat!("cross-encoders/", $name)), &options);
        }
    )*};
}

fixtures! {
    bert_with_three_labels: "bert", Some(2);
    roberta_with_vocabulary_and_merges: "roberta", None;
    xlm_roberta_with_a_sentencepiece_model: "xlm-roberta", None;
    camembert_with_a_sentencepiece_model: "camembert", None;
    distilbert_with_relu: "distilbert", None;
    electra_with_gelu: "electra", None;
    mpnet_with_two_labels: "mpnet", None;
    modernbert_with_the_first_token: "modernbert-cls", None;
    modernbert_with_the_mean_and_biases: "modernbert-mean", None;
    qwen3_with_the_last_token: "qwen3", None;
    gte_with_rotary_positions: "gte", None;
}

#[test]
fn scores_are_what_was_asked_for() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fixture("cross-encoders/mpnet");
    let load = |options: CrossEncoderOptions| CrossEncoder::load(&folder, &options);
    let by_default = load(CrossEncoderOptions::default())?;
    let pairs: Vec<Tokens> = cases(&folder)
        .iter()
        .map(|case| by_default.tokenize_pair(&case.query, &case.passage))
        .collect::<Result<_, _>>()?;
    let logits = by_default.logits(&pairs)?;
    let score = |label, activation| {
        load(CrossEncoderOptions { label, activation, ..CrossEncoderOptions::default() })?.score(&pairs)
    };
    let column = |label: usize| -> Vec<f32> { logits.chunks_exact(2).map(|row| row[label]).collect() };
    assert_eq!(score(None, Some(ScoreActivation::Identity))?, column(1));
    assert_eq!(score(Some(0), Some(ScoreActivation::Identity))?, column(0));
    // Its configuration has no activation: then sentence-transformers gives the logits of several labels
    // unchanged.
    assert_eq!(score(None, Some(ScoreActivation::Configured))?, column(1));
    let shares = score(None, None)?;
    assert_eq!(shares, by_default.score(&pairs)?);
    for (share, row) in shares.iter().zip(logits.chunks_exact(2)) {
        let expected = 1.0 / (1.0 + f64::from(row[0] - row[1]).exp());
        assert!((f64::from(*share) - expected).abs() < 1e-7);
    }
    let wrong = score(Some(2), None).err().ok_or("a label too many")?.to_string();
    assert!(wrong.contains("label 2") && wrong.contains("LABEL_1"), "{wrong}");
    let three = CrossEncoder::load(
        &fixture("cross-encoders/bert"),
        &CrossEncoderOptions { label: None, ..CrossEncoderOptions::default() },
    );
    assert!(matches!(three.err(), Some(EncoderError::Label { asked: None, .. })));
    Ok(())
}

#[test]
fn a_query_that_leaves_no_room_is_an_error_unless_both_may_be_cut() -> Result<(), Box<dyn std::error::Error>>
{
    let folder = fixture("cross-encoders/roberta");
    let options = CrossEncoderOptions { max_length: Some(12), ..CrossEncoderOptions::default() };
    let query = "of the ".repeat(10);
    let error =
        CrossEncoder::load(&folder, &options)?.tokenize_pair(&query, "the").err().ok_or("no error")?;
    assert!(error.to_string().contains("12 tokens") && error.remedy().is_some(), "{error}");
    let longest_first = CrossEncoderOptions { truncation: PairTruncation::LongestFirst, ..options };
    assert_eq!(CrossEncoder::load(&folder, &longest_first)?.tokenize_pair(&query, "the")?.len(), 12);
    let too_short = CrossEncoderOptions { max_length: Some(4), ..longest_first };
    assert!(matches!(
        CrossEncoder::load(&folder, &too_short).err(),
        Some(EncoderError::Tokenizer(TokenizerError::MaxLength { .. }))
    ));
    Ok(())
}

#[test]
fn tensors_without_a_place_are_reported() -> Result<(), Box<dyn std::error::Error>> {
    let copy = Copy::of(&fixture("cross-encoders/bert"));
    let stray = ["bert.adapter.weight", "cls.predictions.bias", "other.weight"];
    let copy = copy.add_tensors("model.safetensors", &stray.map(|name| (name, &[1][..], vec![0.0])));
    let options = CrossEncoderOptions { label: Some(0), ..CrossEncoderOptions::default() };
    let model = CrossEncoder::load(copy.path(), &options)?;
    assert_eq!(model.unexpected_tensors(), ["adapter.weight", "other.weight"]);
    Ok(())
}

/// As sentence-transformers saves a cross-encoder since its version 6.
#[test]
fn the_prompt_and_the_activation_are_read_as_they_are_saved() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fixture("cross-encoders/roberta");
    let modules = json!([{"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]);
    let settings = json!({
        "prompts": {"query": "find: ", "document": "no: "},
        "default_prompt_name": "query",
        "activation_fn": "torch.nn.modules.linear.Identity",
    });
    let copy = Copy::of(&folder).set("config.json", "id2label", json!({"0": 0}));
    let copy = copy.set("config.json", "sentence_transformers", json!({"activation_fn": "torch.nn.Sigmoid"}));
    let copy = copy.edit("modules.json", |file| *file = modules);
    let copy = copy.edit("config_sentence_transformers.json", |file| *file = settings);
    let load = |path: &Path, prompt: Option<&str>| {
        let activation = Some(ScoreActivation::Configured);
        let prompt = prompt.map(str::to_owned);
        CrossEncoder::load(
            path,
            &CrossEncoderOptions { prompt, activation, ..CrossEncoderOptions::default() },
        )
    };
    let (plain, prompted) = (load(&folder, None)?, load(copy.path(), None)?);
    assert_eq!((plain.prompt(), prompted.prompt()), ("", "find: "));
    let pair = prompted.tokenize_pair("the dog", "no: dogs")?;
    assert_eq!(pair, plain.tokenize_pair("find: the dog", "no: dogs")?);
    assert_eq!(
        prompted.pair(&prompted.tokenize_query_cut("the dog")?, &prompted.tokenize("no: dogs")?)?,
        pair
    );
    let pair = [pair];
    assert_eq!(prompted.score(&pair)?, prompted.logits(&pair)?);
    assert_eq!(prompted.labels(), ["0"]);
    assert_ne!(prompted.fingerprint(), plain.fingerprint());
    assert_eq!(load(copy.path(), Some(""))?.fingerprint(), plain.fingerprint());
    assert_eq!(load(&folder, Some("find: "))?.fingerprint(), prompted.fingerprint());
    Ok(())
}

/// transformers takes the last token that is not the padding token.
#[test]
fn pairs_that_end_in_the_padding_token_are_refused() {
    let copy =
        |pad: u32| Copy::of(&fixture("cross-encoders/qwen3")).set("config.json", "pad_token_id", json!(pad));
    let template = json!([
        {"Sequence": {"id": "A", "type_id": 0}},
        {"Sequence": {"id": "B", "type_id": 0}},
        {"SpecialToken": {"id": "<|im_start|>", "type_id": 0}},
    ]);
    let ending =
        |pad| copy(pad).edit("tokenizer.json", |file| file["post_processor"]["pair"] = template.clone());
    let load = |copy: Copy| CrossEncoder::load(copy.path(), &CrossEncoderOptions::default()).err();
    assert!(load(ending(0)).is_none() && load(copy(1)).is_none());
    let error = load(ending(1)).unwrap().to_string();
    assert!(error.contains("pad_token_id"), "{error}");
}

#[test]
fn what_is_no_cross_encoder_says_so() -> Result<(), Box<dyn std::error::Error>> {
    let error = CrossEncoder::load(&fixture("tiny-bert"), &CrossEncoderOptions::default()).err();
    assert!(error.ok_or("no error")?.to_string().contains("dual encoder"));
    let plain = Copy::of(&fixture("tiny-bert")).remove("modules.json");
    let error = CrossEncoder::load(plain.path(), &CrossEncoderOptions::default()).err().ok_or("no error")?;
    assert!(
        error.to_string().contains("pooler") || error.to_string().contains("classification head"),
        "{error}"
    );
    // And the other way around.
    let error = DualEncoder::load(&fixture("cross-encoders/distilbert"), &LoadOptions::default()).err();
    assert!(error.ok_or("no error")?.to_string().contains("classifier"));
    Ok(())
}
