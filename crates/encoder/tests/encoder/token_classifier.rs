//! Token classifiers against Hugging Face transformers in float64: ids and places identical, logits to 1e-5;
//! windows over long texts; new classifiers.

use std::path::PathBuf;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;
use toller_encoder::{
    Compute, CrossEncoder, CrossEncoderOptions, Document, EncoderError, TokenClassifier,
    TokenClassifierOptions, Window,
};
use toller_gpu::Devices;
use toller_nn::{Backend, Precision, Reference};

use crate::common::{Copy, lines, relative_error};

#[derive(Deserialize)]
struct Case {
    text: String,
    input_ids: Vec<u32>,
    /// In characters.
    places: Vec<[usize; 2]>,
    logits: Vec<[f64; 2]>,
}

const MODELS: [&str; 2] = ["bert", "roberta"];

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures/token-classifiers").join(name)
}

fn load(name: &str, options: &TokenClassifierOptions) -> (TokenClassifier, Vec<Case>) {
    let folder = fixture(name);
    (TokenClassifier::load(&folder, options).unwrap(), lines(&folder.join("expected.jsonl")))
}

fn documents(model: &TokenClassifier, cases: &[Case]) -> Vec<Document> {
    cases.iter().map(|case| model.document(&case.text, None).unwrap()).collect()
}

/// The largest error, relative to the largest logit: a logit near zero is a difference of larger terms.
fn error(found: &[Vec<f32>], cases: &[Case]) -> f64 {
    let expected: Vec<f64> = cases.iter().flat_map(|case| case.logits.as_flattened()).copied().collect();
    let largest = expected.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    assert_eq!(found.iter().map(Vec::len).sum::<usize>(), expected.len());
    let errors = found.iter().flatten().zip(&expected).map(|(&a, b)| (f64::from(a) - b).abs());
    errors.fold(0.0, f64::max) / largest
}

#[test]
fn tokens_places_and_logits_are_those_of_transformers() {
    for name in MODELS {
        // Texts are longer than the tokenizer's maximum, and not than the positions.
        let options = TokenClassifierOptions { max_length: Some(64), ..TokenClassifierOptions::default() };
        let (model, cases) = load(name, &options);
        assert_eq!(
            (model.labels(), model.label(None).unwrap()),
            (&["inside", "last"].map(String::from)[..], 1)
        );
        let documents = documents(&model, &cases);
        for (document, case) in documents.iter().zip(&cases) {
            let [Window { input, first: 1, .. }] = &document.windows[..] else {
                panic!("{name}: {:?} is not one window", case.text)
            };
            assert_eq!(input.input_ids, case.input_ids, "{name}: {:?}", case.text);
            let characters = |at: usize| case.text[..at].chars().count();
            let places: Vec<[usize; 2]> =
                document.places.iter().map(|bytes| [bytes.start, bytes.end].map(characters)).collect();
            assert_eq!(places, case.places, "{name}: {:?}", case.text);
        }
        let together = model.logits(&documents, 2).unwrap();
        let found = error(&together, &cases);
        assert!(found <= 1e-5, "{name}: a relative error of {found:e}");
        let reference = model.on(Reference).unwrap();
        for (document, together) in documents.iter().zip(&together) {
            assert_eq!(&model.logits(std::slice::from_ref(document), 1).unwrap()[0], together, "alone");
            let rows = reference.forward(&mut (), &[document.windows[0].input.clone()], 0, 0).unwrap();
            let mut exact = Vec::new();
            Reference.to_host(&mut (), rows, &mut exact).unwrap();
            let exact: Vec<f64> = document.gather(&exact, 2).iter().map(|&x| x.into()).collect();
            assert!(exact.is_empty() || relative_error(together, &exact) <= 1e-5, "{name}");
        }
        let shares = model.shares(&together[0], 1);
        for (share, [inside, last]) in shares.iter().zip(&cases[0].logits) {
            assert!((f64::from(*share) - 1.0 / (1.0 + (inside - last).exp())).abs() < 1e-4);
        }
    }
}

#[test]
fn on_a_gpu_logits_are_as_near_as_vectors() {
    for (dtype, tolerance) in [(Precision::F32, 1e-5), (Precision::F16, 2e-3), (Precision::Bf16, 1e-2)] {
        let compute = Compute::Gpus(Devices::shim(&[1 << 30]));
        let options =
            TokenClassifierOptions { dtype: Some(dtype), compute, ..TokenClassifierOptions::default() };
        let (model, mut cases) = load("bert", &options);
        cases.truncate(3);
        let found = error(&model.logits(&documents(&model, &cases), 1).unwrap(), &cases);
        assert!(found <= tolerance, "{dtype}: a relative error of {found:e}");
    }
}

#[test]
fn a_new_classifier_is_asked_for() {
    let folder = toller_testing::repository("tests/fixtures/tiny-bert");
    let message = |options: &TokenClassifierOptions, folder: &std::path::Path| {
        TokenClassifier::load(folder, options).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let none = TokenClassifierOptions::default();
    assert!(message(&none, &folder).contains("without a classifier of tokens"));
    let new_labels = Some(vec!["inside".to_owned(), "last".to_owned()]);
    let new = TokenClassifierOptions { new_labels, ..none.clone() };
    let model = TokenClassifier::load(&folder, &new).unwrap();
    assert!(model.is_new());
    let document = model.document("Tollers retrieve.", None).unwrap();
    assert!(model.logits(&[document], 1).unwrap()[0].iter().all(|&logit| logit == 0.0));
    assert!(!load("bert", &new).0.is_new(), "a classifier that is there is kept");
    let modernbert = toller_testing::repository("tests/fixtures/cross-encoders/modernbert-cls");
    assert!(message(&new, &modernbert).contains("a token classifier of model_type \"modernbert\""));
    let three =
        Copy::of(&fixture("bert")).set("config.json", "id2label", json!({"0": "a", "1": "b", "2": "c"}));
    assert!(message(&none, three.path()).contains("classifier.weight"));
    let refused = CrossEncoder::load(&fixture("bert"), &CrossEncoderOptions::default()).err();
    assert!(matches!(refused, Some(EncoderError::Model(_))), "tokens are not pairs");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_token_counts_once_and_away_from_the_edges(words in 0_usize..200, stride in 1_usize..=46) {
        let (model, _) = load("bert", &TokenClassifierOptions::default());
        let text = "the city ".repeat(words);
        let document = model.document(&text, Some(stride)).unwrap();
        let (tokens, length) = (document.places.len(), 46);
        // The first value of a row is its token's number in the document, the second its id.
        let mut rows = Vec::new();
        let mut next = 0;
        for Window { input, first, tokens: range, counted } in &document.windows {
            prop_assert_eq!(input.len(), range.len() + 2);
            prop_assert_eq!(counted.start, next);
            next = counted.end;
            for at in 0..input.len() {
                rows.extend([(range.start + at) as f32 - *first as f32, input.input_ids[at] as f32]);
            }
            for token in counted.clone() {
                prop_assert!(range.contains(&token));
                let margin = (length - stride) / 2;
                prop_assert!(range.start == 0 || token >= range.start + margin);
                prop_assert!(range.end == tokens || token + margin < range.end + 1);
            }
        }
        prop_assert_eq!(next, tokens);
        let all = model.document(&text, None).unwrap();
        let gathered = document.gather(&rows, 2);
        let numbers: Vec<f32> = gathered.iter().step_by(2).copied().collect();
        prop_assert_eq!(numbers, (0..tokens).map(|token| token as f32).collect::<Vec<_>>());
        prop_assert_eq!(&all.places, &document.places);
        prop_assert_eq!(rows.len(), 2 * document.rows());
    }
}

#[test]
fn windows_leave_no_token_out() {
    let (model, _) = load("bert", &TokenClassifierOptions::default());
    for stride in [0, 47] {
        let refused = model.document("the city", Some(stride)).err();
        assert!(matches!(refused, Some(EncoderError::Stride { window: 46, .. })));
    }
    let long = "the city ".repeat(60);
    let parts = model.parts(&long).unwrap();
    assert!(parts.windows.len() > 1 && parts.windows.iter().all(|window| window.tokens == window.counted));
}
