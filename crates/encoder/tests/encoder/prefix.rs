//! Prefixes of PEFT (prefix tuning), against what PEFT and transformers compute in float64, on every backend.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use toller_encoder::{
    Compute, CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, NewPrefix, Output, Role,
    TextPooling, TokenClassifier, TokenClassifierOptions,
};
use toller_gpu::Devices;
use toller_ir::Explain;
use toller_nn::Precision;
use toller_tokenizer::Tokens;

use crate::common::{Copy, copy_files, lines, relative_error};

/// The base model, the folder of its prefix, and the prefix's tokens.
const MODELS: [(&str, &str, usize); 2] = [("tiny-bert", "bert", 5), ("models/roberta", "roberta", 3)];

#[derive(Deserialize)]
struct Case {
    input_ids: Vec<u32>,
    cls: Vec<f64>,
    mean: Vec<f64>,
}

impl Case {
    fn tokens(&self) -> Tokens {
        Tokens { input_ids: self.input_ids.clone(), type_ids: vec![0; self.input_ids.len()] }
    }
}

/// A base model with a prefix.
fn model(base: &str, prefix: &str) -> Copy {
    let fixtures = toller_testing::repository("tests/fixtures");
    let copy = Copy::of(&fixtures.join(base));
    copy_files(&fixtures.join("prefixes").join(prefix), copy.path());
    // The expected vectors are not scaled.
    if copy.path().join("modules.json").exists() { copy.remove("modules.json") } else { copy }
}

fn check(options: &LoadOptions, tolerance: f64, few: usize) {
    for (base, prefix, length) in MODELS {
        let folder = model(base, prefix);
        let cases: Vec<Case> = lines(&folder.path().join("expected.jsonl"));
        let cases = &cases[cases.len() - few.min(cases.len())..];
        let tokens: Vec<Tokens> = cases.iter().map(Case::tokens).collect();
        for (pooling, expected) in [("cls", 0), ("mean", 1)] {
            let pooling = TextPooling::from_name(pooling);
            let encoder =
                DualEncoder::load(folder.path(), &LoadOptions { pooling, ..options.clone() }).unwrap();
            let tower = encoder.tower(Role::Passage);
            assert_eq!(tower.prefix_tokens(), length);
            let together = tower.encode(&tokens).unwrap();
            for ((case, tokens), found) in cases.iter().zip(&tokens).zip(together.chunks_exact(tower.dim())) {
                let expected = [&case.cls, &case.mean][expected];
                let error = relative_error(found, expected);
                assert!(error < tolerance, "{prefix}, {pooling:?}: {error:e} for {} tokens", tokens.len());
                let alone = tower.encode(std::slice::from_ref(tokens)).unwrap();
                assert!(relative_error(&alone, expected) < tolerance);
                let mut size = tower.batch_size();
                size.add(tokens);
                assert_eq!(size.tokens(), tokens.len() + length);
            }
        }
    }
}

#[test]
fn vectors_are_those_of_peft() {
    check(&LoadOptions::default(), 1e-5, usize::MAX);
}

#[test]
fn on_a_gpu_too() {
    for (dtype, tolerance) in [(Precision::F32, 1e-5), (Precision::F16, 4e-3), (Precision::Bf16, 3e-2)] {
        let compute = Compute::Gpus(Devices::shim(&[1 << 30]));
        check(&LoadOptions { dtype: Some(dtype), compute, ..LoadOptions::default() }, tolerance, 3);
    }
}

#[cfg(feature = "candle")]
#[test]
fn through_candle_too() {
    let compute = Compute::Candle(toller_nn::CandleDevice::cpu());
    check(&LoadOptions { compute, ..LoadOptions::default() }, 1e-5, usize::MAX);
}

#[test]
fn the_reference_agrees_and_states_are_those_of_the_texts_own_tokens() {
    let folder = model("tiny-bert", "bert");
    let encoder = DualEncoder::load(folder.path(), &LoadOptions::default()).unwrap();
    let (tower, reference) = (encoder.tower(Role::Query), encoder.reference(Role::Query).unwrap());
    let texts: Vec<Tokens> = ["the first of the years", "", "in the city"]
        .map(|text| tower.tokenize(text).unwrap())
        .into_iter()
        .chain([Tokens { input_ids: Vec::new(), type_ids: Vec::new() }])
        .collect();
    let vectors = tower.encode(&texts).unwrap();
    for (text, vector) in texts.iter().zip(vectors.chunks_exact(tower.dim())).take(3) {
        let expected: Vec<f64> = reference.encode(text).unwrap().into_iter().map(f64::from).collect();
        assert!(relative_error(vector, &expected) < 1e-5);
    }
    assert_eq!(vectors[3 * tower.dim()..], vec![0.0; tower.dim()], "no tokens");
    let states = tower.encode_as(Output::States, &texts, 1).unwrap();
    let count: usize = texts.iter().map(Tokens::len).sum();
    assert_eq!(states.len(), count * tower.dim());
    // The mean of a text's states is its vector.
    let of_first = states[..texts[0].len() * tower.dim()].chunks_exact(tower.dim());
    let mut mean = vec![0.0; tower.dim()];
    of_first.for_each(|state| mean.iter_mut().zip(state).for_each(|(sum, &x)| *sum += f64::from(x)));
    mean.iter_mut().for_each(|sum| *sum /= texts[0].len() as f64);
    assert!(relative_error(&vectors[..tower.dim()], &mean) < 1e-5);
}

#[test]
fn a_prefix_leaves_fewer_positions_and_counts_in_the_fingerprint() {
    let load = |folder: &Path, new: Option<(usize, u64)>, max_length: Option<usize>| {
        let new_prefix = new.map(|(tokens, seed)| NewPrefix { tokens, seed });
        DualEncoder::load(folder, &LoadOptions { new_prefix, max_length, ..LoadOptions::default() })
    };
    let base = toller_testing::repository("tests/fixtures/models/bert-pooler");
    let config: serde_json::Value =
        serde_json::from_slice(&fs::read(base.join("config.json")).unwrap()).unwrap();
    let positions = config["max_position_embeddings"].as_u64().unwrap() as usize;
    let own = load(&base, None, None).unwrap().tower(Role::Query).max_length();
    let prefix = positions - own + 7;
    let with = load(&base, Some((prefix, 1)), None).unwrap();
    assert_eq!(with.tower(Role::Query).max_length(), own - 7);
    let error = load(&base, Some((prefix, 1)), Some(own - 6)).err().unwrap().to_string();
    assert!(error.contains(&format!("positions for {}", own - 7)), "{error}");
    let error = load(&base, Some((100_000, 1)), None).err().unwrap().to_string();
    assert!(error.contains("a prefix of 100000 tokens"), "{error}");
    let prints = [None, Some((7, 1)), Some((7, 2)), Some((8, 1))];
    let prints = prints.map(|new| load(&base, new, Some(16)).unwrap().fingerprint().to_owned());
    for (index, print) in prints.iter().enumerate() {
        assert!(!prints[..index].contains(print), "{index}");
    }
    let folder = model("tiny-bert", "bert");
    let error = load(folder.path(), Some((3, 1)), None).err().unwrap().to_string();
    assert!(error.contains("a new prefix for a model with one of 5 tokens"), "{error}");
}

#[test]
fn other_adapters_and_other_models_are_refused() {
    let options = LoadOptions::default();
    let folder = model("tiny-bert", "bert");
    let path = folder.path().join("adapter_config.json");
    let text = fs::read_to_string(&path).unwrap();
    let error_with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut adapter: serde_json::Value = serde_json::from_str(&text).unwrap();
        change(&mut adapter);
        fs::write(&path, adapter.to_string()).unwrap();
        DualEncoder::load(folder.path(), &options).err().unwrap()
    };
    let error = error_with(&|adapter| adapter["peft_type"] = json!("IA3"));
    assert!(error.to_string().contains("an adapter of type IA3 is not supported"), "{error}");
    assert!(error.remedy().is_some());
    let error = error_with(&|adapter| adapter["prefix_projection"] = json!(true));
    assert!(error.to_string().contains("a prefix with a projection"), "{error}");
    let error = error_with(&|adapter| adapter["num_virtual_tokens"] = json!(0));
    assert!(error.to_string().contains("num_virtual_tokens"), "{error}");
    let error = error_with(&|adapter| adapter["num_virtual_tokens"] = json!(6));
    assert!(error.to_string().contains("\"prompt_embeddings\" has shape [5, 128]"), "{error}");
    fs::write(&path, &text).unwrap();
    let pooling = TextPooling::from_name("weightedmean");
    let error = DualEncoder::load(folder.path(), &LoadOptions { pooling, ..options.clone() }).err().unwrap();
    assert!(error.to_string().contains("weightedmean of a model with a prefix"), "{error}");
    fs::remove_file(folder.path().join("adapter_model.safetensors")).unwrap();
    let error = DualEncoder::load(folder.path(), &options).err().unwrap();
    assert!(error.to_string().contains("adapter_model.safetensors"), "{error}");

    let new_prefix = Some(NewPrefix { tokens: 2, seed: 1 });
    for name in ["models/modernbert", "models/mpnet"] {
        let base = toller_testing::repository("tests/fixtures").join(name);
        let error = DualEncoder::load(&base, &LoadOptions { new_prefix, ..options.clone() }).err().unwrap();
        assert!(error.to_string().contains("a prefix for model_type"), "{name}: {error}");
    }
    let classifier = model("cross-encoders/bert", "bert");
    let options = CrossEncoderOptions { label: Some(0), ..CrossEncoderOptions::default() };
    let error = CrossEncoder::load(classifier.path(), &options).err().unwrap();
    assert!(error.to_string().contains("a prefix of a classifier"), "{error}");
    let classifier = model("token-classifiers/bert", "bert");
    let error = TokenClassifier::load(classifier.path(), &TokenClassifierOptions::default()).err().unwrap();
    assert!(error.to_string().contains("a prefix of a classifier"), "{error}");
}
