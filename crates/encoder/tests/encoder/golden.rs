//! Token ids and embeddings of real model layouts against Hugging Face transformers in float64.

use std::path::Path;

use toller_encoder::{DualEncoder, LoadOptions, Role};
use toller_nn::Precision;
use toller_testing::{minilm, shared};

use crate::common::{Case, check, lines, relative_error};

/// The relative error that a vector may have. In int8, 0.25 is a cosine of 0.97 between vectors of length
/// one; MiniLM is off by 0.14 on one of the golden texts, by 0.09 at most on sixty abstracts of SciFact.
fn tolerance(dtype: Precision) -> f64 {
    match dtype {
        Precision::F32 => 1e-5,
        Precision::F16 => 2e-3,
        Precision::Bf16 => 1e-2,
        Precision::Int8 => 0.25,
    }
}

/// The cases of an `expected` file by role. A case without a role is a passage.
fn cases_of(cases: &[Case], role: Role) -> Vec<&Case> {
    let is_query = role == Role::Query;
    cases.iter().filter(|case| (case.role.as_deref() == Some("query")) == is_query).collect()
}

fn check_all(model: &Path, expected: &Path) {
    let cases: Vec<Case> = lines(expected);
    assert!(cases.len() > 10);
    for dtype in Precision::ALL {
        let encoder =
            DualEncoder::load(model, &LoadOptions { dtype: Some(dtype), ..LoadOptions::default() }).unwrap();
        for role in [Role::Query, Role::Passage] {
            let of_role = cases_of(&cases, role);
            check(encoder.tower(role), &of_role, tolerance(dtype), |case| &case.embedding);
        }
    }
}

/// The slow reference of `toller verify` gives the same vectors.
fn check_reference(model: &Path, expected: &Path) {
    let encoder = DualEncoder::load(model, &LoadOptions::default()).unwrap();
    let cases: Vec<Case> = lines(expected);
    for role in [Role::Query, Role::Passage] {
        let reference = encoder.reference(role).unwrap();
        for case in cases_of(&cases, role) {
            let tokens = encoder.tower(role).tokenize(&case.text).unwrap();
            let error = relative_error(&reference.encode(&tokens).unwrap(), &case.embedding);
            assert!(error <= 1e-5, "relative error {error:e} for {:?}", case.text);
        }
    }
}

macro_rules! golden {
    ($($test:ident: $name:literal;)*) => {$(
        #[test]
        fn $test() {
            let Some(model) = shared(concat!("golden/", $name)) else { return };
            check_all(&model, &model.join("expected.jsonl"));
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
        return;
    };
    check_all(&model, &expected);
}

/// The model that is part of the repository, in three forms of the same weights.
#[test]
fn one_model_in_three_forms() {
    let fixtures = toller_testing::repository("tests/fixtures");
    let forms = ["tiny-bert", "tiny-bert-pickle", "tiny-bert-shards"].map(|name| fixtures.join(name));
    check_reference(&forms[0], &fixtures.join("tiny-bert/expected.jsonl"));
    let [first, others @ ..] = forms.each_ref().map(|form| {
        check_all(form, &fixtures.join("tiny-bert/expected.jsonl"));
        let encoder = DualEncoder::load(form, &LoadOptions::default()).unwrap();
        let tower = encoder.tower(Role::Passage);
        let tokens = tower.tokenize("the same bits, whatever the file").unwrap();
        (encoder.fingerprint().to_owned(), tower.encode(&[tokens]).unwrap())
    });
    for other in others {
        assert_eq!(other, first);
    }
}
