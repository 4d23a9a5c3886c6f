//! Models through candle on the CPU, against Hugging Face transformers in float64 and the reference: promise
//! 4 in f32, alone and among others.

use std::path::{Path, PathBuf};

use toller_encoder::{
    Compute, CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, Role, TextPooling,
};
use toller_nn::{CandleDevice, Precision};
use toller_tokenizer::Tokens;

use crate::common::{Case, Pair, lines, relative_error};

const TOLERANCE: f64 = 1e-5;

/// Models of `tests/fixtures/models`, whose expected vectors are means.
const ARCHITECTURES: [&str; 21] = [
    "bert-pooler", "distilbert", "electra", "ernie", "eurobert", "gemma3", "gte", "gte-original", "llama",
    "mistral", "modernbert", "modernbert-biases", "mpnet", "mt5", "nomic-bert", "nomic-bert-original",
    "qwen2-both-ways", "qwen3", "qwen3-local", "qwen3-yarn", "roberta",
];

const GOLDEN: [&str; 4] = ["bert-mean", "ernie-cls", "mbert-dpr", "xlmr-mean"];

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures").join(name)
}

fn options() -> LoadOptions {
    LoadOptions { compute: Compute::Candle(CandleDevice::cpu()), ..LoadOptions::default() }
}

/// Compares vectors with those of the cases: alone, and in one batch of all.
fn check_dual(model: &DualEncoder, cases: &[Case]) {
    for role in [Role::Query, Role::Passage] {
        let is_of_role = |case: &&Case| (case.role.as_deref() == Some("query")) == (role == Role::Query);
        let of_role: Vec<&Case> = cases.iter().filter(is_of_role).collect();
        let tower = model.tower(role);
        let tokens: Vec<Tokens> = of_role.iter().map(|case| tower.tokenize(&case.text).unwrap()).collect();
        let together = tower.encode(&tokens).unwrap();
        for ((case, tokens), together) in of_role.iter().zip(&tokens).zip(together.chunks_exact(tower.dim()))
        {
            let alone = tower.encode(std::slice::from_ref(tokens)).unwrap();
            for (vector, how) in [(&alone[..], "alone"), (together, "in a batch")] {
                let error = relative_error(vector, &case.embedding);
                assert!(error <= TOLERANCE, "{error:e} {how} for {} tokens, {:?}", tokens.len(), case.text);
            }
        }
    }
}

fn check_folder(folder: &Path, options: &LoadOptions) {
    let options = LoadOptions { batch_tokens: Some(1 << 20), ..options.clone() };
    check_dual(&DualEncoder::load(folder, &options).unwrap(), &lines(&folder.join("expected.jsonl")));
}

#[test]
fn every_architecture() {
    for name in ARCHITECTURES {
        let pooling = TextPooling::from_name("mean");
        check_folder(&fixture("models").join(name), &LoadOptions { pooling, ..options() });
    }
    check_folder(&fixture("tiny-bert"), &options());
}

#[test]
fn golden_models() {
    for name in GOLDEN {
        if let Some(folder) = toller_testing::shared(&format!("golden/{name}")) {
            check_folder(&folder, &options());
        }
    }
}

#[test]
fn the_real_minilm() {
    let expected = toller_testing::shared("golden/minilm/expected.jsonl");
    let (Some(folder), Some(expected)) = (toller_testing::minilm(), expected) else { return };
    check_dual(&DualEncoder::load(&folder, &options()).unwrap(), &lines(&expected));
}

/// Pairs of each cross-encoder.
const PAIRS: usize = 12;

fn check_cross(folder: &Path) {
    let mut pairs: Vec<Pair> = lines(&folder.join("expected.jsonl"));
    // The reference is slow.
    pairs.truncate(PAIRS);
    // The label whose score counts: a model of three has none by default.
    let options = CrossEncoderOptions { label: Some(0), ..CrossEncoderOptions::default() };
    let reference = CrossEncoder::load(folder, &options).unwrap().reference().unwrap();
    let compute = Compute::Candle(CandleDevice::cpu());
    let model = CrossEncoder::load(folder, &CrossEncoderOptions { compute, ..options }).unwrap();
    let tokens = pairs.iter().map(|pair| model.tokenize_pair(&pair.query, &pair.passage).unwrap());
    let tokens: Vec<Tokens> = tokens.collect();
    let logits = model.logits(&tokens).unwrap();
    for (tokens, found) in tokens.iter().zip(logits.chunks_exact(model.labels().len())) {
        let expected = reference.logits(tokens).unwrap();
        for ((&found, &expected), limit) in found.iter().zip(&expected.logits).zip(expected.limits) {
            let error = f64::from((found - expected).abs()) / limit;
            assert!(error <= TOLERANCE, "{}: {error:e} of {limit}", folder.display());
        }
    }
}

#[test]
fn cross_encoders_of_every_head() {
    for name in ["bert", "distilbert", "electra", "modernbert-cls", "modernbert-mean", "qwen3", "roberta"] {
        check_cross(&fixture("cross-encoders").join(name));
    }
    for name in ["llama-parts", "qwen2-one-answer", "qwen3-classifier", "qwen3-plain"] {
        check_cross(&fixture("chat-models").join(name));
    }
    for name in ["bert-ce", "ernie-ce", "xlmr-ce"] {
        if let Some(folder) = toller_testing::shared(&format!("golden/{name}")) {
            check_cross(&folder);
        }
    }
}

#[test]
fn bits_of_candle_have_their_own_name_and_int8_is_refused() {
    let LoadOptions { compute, .. } = options();
    assert_eq!(compute.name_of(Precision::F32), "f32 by candle on the CPU");
    let int8 = LoadOptions { dtype: Some(Precision::Int8), ..options() };
    let error = DualEncoder::load(&fixture("tiny-bert"), &int8).err().unwrap();
    assert!(error.to_string().contains("int8 through candle"), "{error}");
    assert!(toller_ir::Explain::remedy(&error).unwrap().to_string().contains("native"));
}
