//! Token ids and embeddings of real model layouts against Hugging Face transformers in float64.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toller_encoder::{DualEncoder, LoadOptions, Role};
use toller_nn::Precision;
use toller_testing::shared;
use toller_tokenizer::Tokens;

#[derive(Deserialize)]
struct Case {
    text: String,
    role: Option<String>,
    input_ids: Vec<u32>,
    embedding: Vec<f64>,
}

/// all-MiniLM-L6-v2, where it has been fetched (scripts/get-minilm).
fn minilm() -> Option<PathBuf> {
    std::env::var_os("TOLLER_MINILM").map(PathBuf::from).filter(|folder| folder.join("config.json").is_file())
}

/// The relative error that a vector may have. In int8, 0.25 is a cosine of .97 between vectors of length one;
/// MiniLM is off by 0.14 on one of the golden texts, by 0.09 at most on sixty abstracts of SciFact.
fn tolerance(dtype: Precision) -> f64 {
    match dtype {
        Precision::F32 => 1e-5,
        Precision::F16 => 2e-3,
        Precision::Bf16 => 1e-2,
        Precision::Int8 => 0.25,
    }
}

fn check(model: &Path, expected: &Path) {
    for dtype in Precision::ALL {
        check_in(dtype, model, expected);
    }
}

fn check_in(dtype: Precision, model: &Path, expected: &Path) {
    let encoder = DualEncoder::load(model, &LoadOptions { dtype, ..LoadOptions::default() }).unwrap();
    let cases: Vec<Case> = fs::read_to_string(expected)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(cases.len() > 10);
    for role in [Role::Query, Role::Passage] {
        let of_role = |case: &&Case| match case.role.as_deref() {
            Some("query") => role == Role::Query,
            Some(_) | None => role == Role::Passage,
        };
        let cases: Vec<&Case> = cases.iter().filter(of_role).collect();
        let tower = encoder.tower(role);
        let tokens: Vec<Tokens> = cases.iter().map(|case| tower.tokenize(&case.text).unwrap()).collect();
        for (case, tokens) in cases.iter().zip(&tokens) {
            assert_eq!(tokens.input_ids, case.input_ids, "token ids of {:?}", case.text);
        }
        let together = tower.encode(&tokens).unwrap();
        for (row, (case, tokens)) in cases.iter().zip(&tokens).enumerate() {
            let got = &together[row * tower.dim()..(row + 1) * tower.dim()];
            let difference: f64 =
                got.iter().zip(&case.embedding).map(|(&a, b)| (f64::from(a) - b).powi(2)).sum();
            let length: f64 = case.embedding.iter().map(|b| b * b).sum();
            let relative = (difference / length).sqrt();
            assert!(relative <= tolerance(dtype), "{dtype}: relative error {relative:e} for {:?}", case.text);
            // Alone the same bits as among the others.
            assert_eq!(
                tower.encode(std::slice::from_ref(tokens)).unwrap(),
                got,
                "{:?} in a batch",
                case.text
            );
        }
    }
}

/// The slow reference of `toller verify` gives the same vectors.
fn check_reference(model: &Path, expected: &Path) {
    let encoder = DualEncoder::load(model, &LoadOptions::default()).unwrap();
    let [queries, passages] = [Role::Query, Role::Passage].map(|role| encoder.reference(role).unwrap());
    for line in fs::read_to_string(expected).unwrap().lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let role = if case.role.as_deref() == Some("query") { Role::Query } else { Role::Passage };
        let tokens = encoder.tower(role).tokenize(&case.text).unwrap();
        let reference = if role == Role::Query { &queries } else { &passages };
        let got = reference.encode(&tokens).unwrap();
        assert_eq!(got.len(), case.embedding.len());
        let difference: f64 = got.iter().zip(&case.embedding).map(|(&a, b)| (f64::from(a) - b).powi(2)).sum();
        let length: f64 = case.embedding.iter().map(|b| b * b).sum();
        assert!((difference / length).sqrt() <= 1e-5, "{:?}", case.text);
    }
}

macro_rules! golden {
    ($($test:ident: $name:literal;)*) => {$(
        #[test]
        fn $test() {
            let Some(model) = shared(concat!("golden/", $name)) else { return };
            check(&model, &model.join("expected.jsonl"));
            check_reference(&model, &model.join("expected.jsonl"));
        }
    )*};
}

golden! {
    bert_with_prompts_dense_and_normalize: "bert-mean";
    dpr_with_two_towers: "mbert-dpr";
    ernie_with_task_types_and_a_bare_vocabulary: "ernie-cls";
    xlm_roberta_with_unigrams: "xlmr-mean";
}

#[test]
fn the_real_minilm() {
    let (Some(expected), Some(model)) = (shared("golden/minilm/expected.jsonl"), minilm()) else {
        eprintln!("skipped: no shared test data or no model (set TOLLER_SHARED and TOLLER_MINILM)");
        return;
    };
    check(&model, &expected);
}

/// The model that is part of the repository, in three forms of the same weights.
#[test]
fn one_model_in_three_forms() {
    let fixtures = toller_testing::repository("tests/fixtures");
    let forms = ["tiny-bert", "tiny-bert-pickle", "tiny-bert-shards"].map(|name| fixtures.join(name));
    check_reference(&forms[0], &fixtures.join("tiny-bert/expected.jsonl"));
    let [first, others @ ..] = forms.each_ref().map(|form| {
        check(form, &fixtures.join("tiny-bert/expected.jsonl"));
        let encoder = DualEncoder::load(form, &LoadOptions::default()).unwrap();
        let tower = encoder.tower(Role::Passage);
        let tokens = tower.tokenize("the same bits, whatever the file").unwrap();
        (encoder.fingerprint().to_owned(), tower.encode(&[tokens]).unwrap())
    });
    for other in others {
        assert_eq!(other, first);
    }
}
