//! Adapters of LoRA next to the files of their model, as `scripts/make-lora-fixtures` makes them with PEFT.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use toller_encoder::{CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, Role, TextPooling};
use toller_ir::Explain;

use crate::common::{Case, Copy, check, lines, relative_error, rename_tensors};

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures").join(name)
}

/// A copy of a model with an adapter next to it.
fn adapted(base: &str, adapter: &str) -> Copy {
    let copy = Copy::of(&fixture(base));
    for name in ["adapter_config.json", "adapter_model.safetensors"] {
        fs::copy(fixture("lora").join(adapter).join(name), copy.path().join(name)).unwrap();
    }
    copy
}

fn mean() -> LoadOptions {
    LoadOptions { pooling: TextPooling::from_name("mean"), ..LoadOptions::default() }
}

#[test]
fn vectors_are_those_of_peft() {
    for (base, adapter) in [("models/qwen3", "qwen3"), ("models/bert-pooler", "bert")] {
        let copy = adapted(base, adapter);
        let cases: Vec<Case> = lines(&fixture("lora").join(adapter).join("expected.jsonl"));
        let encoder = DualEncoder::load(copy.path(), &mean()).unwrap();
        assert!(encoder.unexpected_tensors().is_empty(), "{:?}", encoder.unexpected_tensors());
        let cases: Vec<&Case> = cases.iter().collect();
        check(encoder.tower(Role::Passage), &cases, 1e-5, |case| &case.embedding);
        let plain = DualEncoder::load(&fixture(base), &mean()).unwrap();
        assert_ne!(plain.fingerprint(), encoder.fingerprint());
    }
}

/// As Tevatron trains language models: the last token is the end of the text.
#[test]
fn texts_may_end_in_the_end_of_text() {
    let with = |config: Value, max_length: Option<usize>| {
        let copy = Copy::of(&fixture("models/llama")).edit("tokenizer_config.json", |old| *old = config);
        let options = LoadOptions { append_eos_token: true, max_length, ..mean() };
        DualEncoder::load(copy.path(), &options)
    };
    let plain = DualEncoder::load(&fixture("models/llama"), &mean()).unwrap();
    let ends = with(json!({"eos_token": "</s>"}), None).unwrap();
    assert_ne!(plain.fingerprint(), ends.fingerprint());
    let ids =
        |encoder: &DualEncoder, text: &str| encoder.tower(Role::Query).tokenize(text).unwrap().input_ids;
    for text in ["", "the dog"] {
        assert_eq!(ids(&ends, text), [ids(&plain, text), vec![2]].concat());
    }
    // The end has its place in the length.
    let short = with(json!({"eos_token": {"content": "</s>"}}), Some(5)).unwrap();
    let found = ids(&short, "the dog and the dog and the dog");
    assert_eq!((found.len(), found.last()), (5, Some(&2)));
    // Mistral's tokenizer ends texts so itself.
    let mistral = |append_eos_token| {
        let copy =
            Copy::of(&fixture("models/mistral")).set("tokenizer_config.json", "eos_token", json!("</s>"));
        let options = LoadOptions { append_eos_token, ..mean() };
        DualEncoder::load(copy.path(), &options).unwrap().fingerprint().to_owned()
    };
    assert_eq!(mistral(true), mistral(false));
    let error = with(json!({}), None).err().unwrap();
    assert!(error.to_string().contains("has no token that ends a text"), "{error}");
    let error = with(json!({"eos_token": "<end>"}), None).err().unwrap();
    assert!(error.to_string().contains("\"<end>\" is not in its vocabulary"), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("eos_token"));
}

/// The adapter has the head of the classifier.
#[test]
fn scores_are_those_of_peft() {
    #[derive(Deserialize)]
    struct Pair {
        query: String,
        passage: String,
        logits: Vec<f64>,
    }
    let copy = adapted("cross-encoders/qwen3", "reranker");
    let model = CrossEncoder::load(copy.path(), &CrossEncoderOptions::default()).unwrap();
    for pair in lines::<Pair>(&fixture("lora/reranker/expected.jsonl")) {
        let tokens = model.tokenize_pair(&pair.query, &pair.passage).unwrap();
        assert!(relative_error(&model.logits(&[tokens]).unwrap(), &pair.logits) < 1e-5);
    }
}

/// As an adapter of the hub's cache is composed with its model: links to links to files of other names.
#[test]
fn an_adapter_may_be_linked() {
    let copy = adapted("models/qwen3", "qwen3");
    let cache = tempfile::tempdir().unwrap();
    let [blobs, snapshot] = ["blobs", "snapshot"].map(|name| cache.path().join(name));
    fs::create_dir(&blobs).unwrap();
    fs::create_dir(&snapshot).unwrap();
    for (name, blob) in [("adapter_config.json", "1f"), ("adapter_model.safetensors", "2e")] {
        fs::rename(copy.path().join(name), blobs.join(blob)).unwrap();
        symlink(Path::new("../blobs").join(blob), snapshot.join(name)).unwrap();
        symlink(snapshot.join(name), copy.path().join(name)).unwrap();
    }
    let linked = DualEncoder::load(copy.path(), &mean()).unwrap();
    let plain = adapted("models/qwen3", "qwen3");
    assert_eq!(linked.fingerprint(), DualEncoder::load(plain.path(), &mean()).unwrap().fingerprint());
    // Messages name the file that users have.
    let config = fs::read_to_string(blobs.join("1f")).unwrap();
    fs::write(blobs.join("1f"), config.replace("\"use_dora\": false", "\"use_dora\": true")).unwrap();
    let error = copy.error(&mean()).to_string();
    assert!(error.contains(snapshot.join("adapter_config.json").to_str().unwrap()), "{error}");
}

/// Products of no rows, and of no columns.
#[test]
fn damaged_shapes_are_errors() {
    let module = "base_model.model.layers.0.self_attn.q_proj";
    for [down, up] in [[[0, 20], [40, 0]], [[4, 0], [40, 4]]] {
        let copy = adapted("models/qwen3", "qwen3");
        fs::remove_file(copy.path().join("adapter_model.safetensors")).unwrap();
        let [first, second] = ["A", "B"].map(|half| format!("{module}.lora_{half}.weight"));
        let values = |shape: [usize; 2]| vec![0.5; shape[0] * shape[1]];
        let tensors = [(&*first, &down[..], values(down)), (&*second, &up[..], values(up))];
        let copy = copy.add_tensors("adapter_model.safetensors", &tensors);
        assert!(copy.error(&mean()).to_string().contains("LoRA of shapes"), "{}", copy.error(&mean()));
    }
}

/// The base says nothing of labels, and is a language model: the adapter makes a classifier of it.
#[test]
fn an_adapter_may_make_a_classifier_of_a_language_model() {
    let copy = adapted("cross-encoders/qwen3", "reranker").edit("config.json", |config| {
        config["architectures"] = json!(["Qwen3ForCausalLM"]);
        drop(config.as_object_mut().unwrap().remove("id2label"));
        drop(config.as_object_mut().unwrap().remove("label2id"));
    });
    assert!(CrossEncoder::is_in(copy.path()).unwrap());
    let model = CrossEncoder::load(copy.path(), &CrossEncoderOptions::default()).unwrap();
    let whole = adapted("cross-encoders/qwen3", "reranker");
    let expected = CrossEncoder::load(whole.path(), &CrossEncoderOptions::default()).unwrap();
    let score = |model: &CrossEncoder| {
        let tokens = model.tokenize_pair("who", "the city").unwrap();
        model.logits(&[tokens]).unwrap()
    };
    assert_eq!(score(&model), score(&expected));
}

/// Old files call the weight and the bias of a norm gamma and beta.
#[test]
fn old_names_of_norms_are_found() {
    let copy = adapted("models/bert-pooler", "bert");
    let path = copy.path().join("model.safetensors");
    for (new, old) in [("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")] {
        rename_tensors(&path, new, old);
    }
    let whole = adapted("models/bert-pooler", "bert");
    let prints =
        [copy, whole].map(|copy| DualEncoder::load(copy.path(), &mean()).unwrap().fingerprint().to_owned());
    assert_eq!(prints[0], prints[1]);
}

#[test]
fn what_changes_an_adapter_otherwise_is_refused() {
    for (key, value, named) in [
        ("use_dora", json!(true), "use_dora true is not supported"),
        ("init_lora_weights", json!("pissa"), "init_lora_weights \"pissa\""),
        ("something_new", json!({"a": 1}), "something_new"),
        ("alpha_pattern", json!({"^layers.*": 2}), "alpha_pattern"),
        ("init_lora_weights", json!(["x"]), "init_lora_weights"),
        ("arrow_config", json!({"a": 1}), "arrow_config"),
        ("lora_alpha", Value::Null, "expected a number"),
    ] {
        let copy = adapted("models/qwen3", "qwen3").set("adapter_config.json", key, value);
        let error = copy.error(&mean());
        assert!(error.to_string().contains(named), "{error}");
        assert!(error.to_string().contains("adapter_config.json"), "{error}");
    }
    let error = adapted("models/distilbert", "bert").error(&mean());
    assert!(error.to_string().contains("which the model does not have"), "{error}");
    let error = adapted("models/llama", "qwen3").error(&mean());
    assert!(error.to_string().contains("LoRA of shapes"), "{error}");
    let copy = adapted("models/qwen3", "qwen3");
    fs::remove_file(copy.path().join("adapter_model.safetensors")).unwrap();
    let error = copy.error(&mean());
    assert!(error.to_string().contains("has no adapter_model.safetensors"), "{error}");
    assert!(error.remedy().is_some());
}
