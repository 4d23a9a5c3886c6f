//! What a model's files say and how they may contradict each other, on variations of the tiny fixture.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use toller_encoder::{DualEncoder, EncoderError, LoadOptions, Role, TextPooling};
use toller_ir::Explain;

const TEXT: &str = "The Same bits, whatever the file; and a longer text than eight tokens";

/// A copy of the tiny fixture that a test may change.
struct Model(TempDir);

impl Model {
    fn new() -> Self {
        let copy = tempfile::tempdir().unwrap();
        let fixture = toller_testing::repository("tests/fixtures/tiny-bert");
        fs::create_dir(copy.path().join("1_Pooling")).unwrap();
        let names = ["config.json", "modules.json", "sentence_bert_config.json", "tokenizer.json"];
        for name in
            names.into_iter().chain(["tokenizer_config.json", "model.safetensors", "1_Pooling/config.json"])
        {
            fs::copy(fixture.join(name), copy.path().join(name)).unwrap();
        }
        Self(copy)
    }

    /// Changes one JSON file.
    fn edit(self, name: &str, change: impl FnOnce(&mut Value)) -> Self {
        let path = self.0.path().join(name);
        let mut value = fs::read(&path).map_or(json!({}), |text| serde_json::from_slice(&text).unwrap());
        change(&mut value);
        fs::write(path, value.to_string()).unwrap();
        self
    }

    fn set(self, name: &str, key: &str, value: Value) -> Self {
        self.edit(name, |file| file[key] = value)
    }

    fn remove(self, name: &str) -> Self {
        fs::remove_file(self.0.path().join(name)).unwrap();
        self
    }

    fn load(&self) -> Result<DualEncoder, EncoderError> {
        DualEncoder::load(self.0.path(), &LoadOptions::default())
    }

    fn ids(&self) -> Vec<u32> {
        self.load().unwrap().tower(Role::Passage).tokenize(TEXT).unwrap().input_ids
    }

    /// The message of the error that loading must end in.
    fn error(&self) -> String {
        self.load().err().unwrap().to_string()
    }
}

/// Stores in the field carry this: if it changes, every store of every model must be encoded again.
#[test]
fn the_fingerprint_is_pinned() {
    assert_eq!(Model::new().load().unwrap().fingerprint(), "3e9aaaf49011883c9ce420cf0bc134f7");
}

#[test]
fn whatever_decides_the_vectors_changes_the_fingerprint() {
    let original = Model::new().load().unwrap().fingerprint().to_owned();
    let changed = [
        Model::new().set("config.json", "hidden_act", json!("relu")),
        Model::new().set("config.json", "num_attention_heads", json!(4)),
        Model::new().set("config.json", "layer_norm_eps", json!(1e-5)),
        Model::new().set("tokenizer_config.json", "do_lower_case", json!(false)),
        Model::new().set("tokenizer_config.json", "truncation_side", json!("left")),
        Model::new().set("sentence_bert_config.json", "do_lower_case", json!(true)),
        Model::new().set("1_Pooling/config.json", "pooling_mode", json!("cls")),
        Model::new().edit("modules.json", |modules| drop(modules.as_array_mut().unwrap().pop())),
        Model::new().set("config_sentence_transformers.json", "prompts", json!({"query": "q: "})),
    ];
    let mut fingerprints: Vec<String> =
        changed.iter().map(|model| model.load().unwrap().fingerprint().to_owned()).collect();
    fingerprints.push(original.clone());
    let all = fingerprints.len();
    fingerprints.sort();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), all, "two of them are the same");
    // What does not decide the vectors does not.
    let same = [
        Model::new().set("sentence_bert_config.json", "max_seq_length", json!(16)),
        Model::new().set("config.json", "transformers_version", json!("0.0")),
        Model::new().set("tokenizer.json", "truncation", Value::Null),
    ];
    for model in same {
        assert_eq!(model.load().unwrap().fingerprint(), original);
    }
}

#[test]
fn special_tokens_of_a_bare_vocabulary_are_in_the_fingerprint() {
    let vocabulary = |model: Model| {
        let json: Value =
            serde_json::from_slice(&fs::read(model.0.path().join("tokenizer.json")).unwrap()).unwrap();
        let mut tokens: Vec<(u64, String)> = json["model"]["vocab"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(token, id)| (id.as_u64().unwrap(), token.clone()))
            .collect();
        tokens.sort();
        let lines: Vec<String> = tokens.into_iter().map(|(_, token)| token).collect();
        fs::write(model.0.path().join("vocab.txt"), lines.join("\n")).unwrap();
        model.remove("tokenizer.json")
    };
    let plain = vocabulary(Model::new());
    assert_eq!(plain.ids(), Model::new().ids());
    let other = vocabulary(Model::new()).set("tokenizer_config.json", "cls_token", json!("[MASK]"));
    assert_ne!(other.ids(), plain.ids());
    assert_ne!(other.load().unwrap().fingerprint(), plain.load().unwrap().fingerprint());
}

#[test]
fn flags_overrule_the_tokenizers_normalizer() {
    let cased = Model::new().set("tokenizer_config.json", "do_lower_case", json!(false));
    assert_ne!(cased.ids(), Model::new().ids());
}

#[test]
fn texts_are_cut_where_the_model_says() {
    let short = |model: Model| model.set("sentence_bert_config.json", "max_seq_length", json!(8));
    let (all, right) = (Model::new().ids(), short(Model::new()).ids());
    assert_eq!((right.len(), &right[..7]), (8, &all[..7]));
    let left = short(Model::new().set("tokenizer_config.json", "truncation_side", json!("left"))).ids();
    assert_eq!((left.len(), &left[1..]), (8, &all[all.len() - 7..]));
    let older = Model::new().remove("sentence_bert_config.json");
    let older = older.set("sentence_roberta_config.json", "max_seq_length", json!(8));
    assert_eq!(older.ids(), right);
    let middle = Model::new().set("tokenizer_config.json", "truncation_side", json!("middle"));
    assert!(middle.error().contains("middle"));
}

#[test]
fn what_contradicts_the_weights_is_an_error() {
    let layers = Model::new().set("config.json", "num_hidden_layers", json!(1));
    assert!(layers.error().contains("num_hidden_layers is 1"), "{}", layers.error());
    let vocabulary = Model::new().set("config.json", "vocab_size", json!(319));
    assert!(vocabulary.error().contains("word_embeddings"));
    // The default where the configuration does not say, as in transformers.
    let types = Model::new()
        .edit("config.json", |config| drop(config.as_object_mut().unwrap().remove("type_vocab_size")));
    assert_eq!(types.load().unwrap().fingerprint(), Model::new().load().unwrap().fingerprint());
    let prompt = Model::new().set("config_sentence_transformers.json", "default_prompt_name", json!("none"));
    assert!(prompt.error().contains("default prompt"));
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    let model = Model::new();
    let path = model.0.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    assert!(model.error().contains("not finite"), "{}", model.error());
    let epsilon = Model::new().set("config.json", "layer_norm_eps", json!(-1.0));
    assert!(epsilon.error().contains("layer_norm_eps"));
}

#[test]
fn a_classifier_is_no_encoder_unless_asked_for() {
    let model = Model::new()
        .set("config.json", "architectures", json!(["BertForSequenceClassification"]))
        .remove("modules.json");
    assert!(model.error().contains("classifier"));
    let options = LoadOptions { pooling: TextPooling::from_name("mean"), ..LoadOptions::default() };
    assert!(DualEncoder::load(model.0.path(), &options).is_ok());
}

#[test]
fn what_is_no_weights_file_says_so() {
    for (content, expected) in
        [(&b"\x80\x02pickle"[..], "before 1.6"), (b"PK\x03\x04", "weights"), (b"", "weights")]
    {
        let model = Model::new().remove("model.safetensors");
        fs::write(model.0.path().join("pytorch_model.bin"), content).unwrap();
        assert!(model.error().contains(expected), "{}", model.error());
    }
    let truncated = Model::new();
    let path = truncated.0.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = truncated.load().err().unwrap();
    assert!(error.to_string().contains("model.safetensors") && error.remedy().is_some());
}
