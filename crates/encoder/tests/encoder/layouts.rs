//! A model's files and their contradictions, on variations of the tiny fixture.

use std::fs;

use serde_json::{Value, json};
use toller_encoder::{DualEncoder, LoadOptions, Output, Role, TextPooling};
use toller_ir::Explain;

use crate::common::Copy;

const TEXT: &str = "The Same bits, whatever the file; and a longer text than eight tokens";

/// A copy of the tiny fixture that a test may change.
fn model() -> Copy {
    Copy::of(&toller_testing::repository("tests/fixtures/tiny-bert"))
}

fn load(model: &Copy) -> DualEncoder {
    DualEncoder::load(model.path(), &LoadOptions::default()).unwrap()
}

fn fingerprint(model: &Copy) -> String {
    load(model).fingerprint().to_owned()
}

fn ids(model: &Copy) -> Vec<u32> {
    load(model).tower(Role::Passage).tokenize(TEXT).unwrap().input_ids
}

/// The message of the error that loading must end in.
fn error(model: &Copy) -> String {
    model.error(&LoadOptions::default()).to_string()
}

/// Users' stores contain this fingerprint. If it changes, every store of every model must be encoded again.
#[test]
fn the_fingerprint_is_pinned() {
    assert_eq!(fingerprint(&model()), "3e9aaaf49011883c9ce420cf0bc134f7");
}

#[test]
fn whatever_decides_the_vectors_changes_the_fingerprint() {
    let original = fingerprint(&model());
    let changed = [
        model().set("config.json", "hidden_act", json!("relu")),
        model().set("config.json", "num_attention_heads", json!(4)),
        model().set("config.json", "layer_norm_eps", json!(1e-5)),
        model().set("tokenizer_config.json", "do_lower_case", json!(false)),
        model().set("tokenizer_config.json", "truncation_side", json!("left")),
        model().set("sentence_bert_config.json", "do_lower_case", json!(true)),
        model().set("1_Pooling/config.json", "pooling_mode", json!("cls")),
        model().edit("modules.json", |modules| drop(modules.as_array_mut().unwrap().pop())),
        model().set("config_sentence_transformers.json", "prompts", json!({"query": "q: "})),
    ];
    let mut fingerprints: Vec<String> = changed.iter().map(fingerprint).collect();
    fingerprints.push(original.clone());
    let all = fingerprints.len();
    fingerprints.sort();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), all, "two of them are the same");
    // What does not determine the vectors does not change the fingerprint.
    let same = [
        model().set("sentence_bert_config.json", "max_seq_length", json!(16)),
        model().set("config.json", "transformers_version", json!("0.0")),
        model().set("tokenizer.json", "truncation", Value::Null),
    ];
    for model in same {
        assert_eq!(fingerprint(&model), original);
    }
}

#[test]
fn special_tokens_of_a_bare_vocabulary_are_in_the_fingerprint() {
    let with_vocabulary = |model: Copy| {
        let json: Value =
            serde_json::from_slice(&fs::read(model.path().join("tokenizer.json")).unwrap()).unwrap();
        let mut tokens: Vec<(u64, String)> = json["model"]["vocab"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(token, id)| (id.as_u64().unwrap(), token.clone()))
            .collect();
        tokens.sort();
        let lines: Vec<String> = tokens.into_iter().map(|(_, token)| token).collect();
        fs::write(model.path().join("vocab.txt"), lines.join("\n")).unwrap();
        model.remove("tokenizer.json")
    };
    let plain = with_vocabulary(model());
    assert_eq!(ids(&plain), ids(&model()));
    let other = with_vocabulary(model()).set("tokenizer_config.json", "cls_token", json!("[MASK]"));
    assert_ne!(ids(&other), ids(&plain));
    assert_ne!(fingerprint(&other), fingerprint(&plain));
}

#[test]
fn flags_overrule_the_tokenizers_normalizer() {
    let cased = model().set("tokenizer_config.json", "do_lower_case", json!(false));
    assert_ne!(ids(&cased), ids(&model()));
}

#[test]
fn texts_are_cut_where_the_model_says() {
    let short = |model: Copy| model.set("sentence_bert_config.json", "max_seq_length", json!(8));
    let (all, right) = (ids(&model()), ids(&short(model())));
    assert_eq!((right.len(), &right[..7]), (8, &all[..7]));
    let left = ids(&short(model().set("tokenizer_config.json", "truncation_side", json!("left"))));
    assert_eq!((left.len(), &left[1..]), (8, &all[all.len() - 7..]));
    let older = model().remove("sentence_bert_config.json");
    let older = older.set("sentence_roberta_config.json", "max_seq_length", json!(8));
    assert_eq!(ids(&older), right);
    let middle = model().set("tokenizer_config.json", "truncation_side", json!("middle"));
    assert!(error(&middle).contains("middle"));
}

#[test]
fn what_contradicts_the_weights_is_an_error() {
    let layers = model().set("config.json", "num_hidden_layers", json!(1));
    assert!(error(&layers).contains("the number of layers is 1"), "{}", error(&layers));
    let vocabulary = model().set("config.json", "vocab_size", json!(319));
    assert!(error(&vocabulary).contains("word_embeddings"));
    // The default if the configuration has no number, as in transformers.
    let types =
        model().edit("config.json", |config| drop(config.as_object_mut().unwrap().remove("type_vocab_size")));
    assert_eq!(fingerprint(&types), fingerprint(&model()));
    let prompt = model().set("config_sentence_transformers.json", "default_prompt_name", json!("none"));
    assert!(error(&prompt).contains("default prompt"));
}

#[test]
fn numbers_that_are_not_finite_or_too_large_are_refused() {
    let damaged = model();
    let path = damaged.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    assert!(error(&damaged).contains("not finite"), "{}", error(&damaged));
    let epsilon = model().set("config.json", "layer_norm_eps", json!(-1.0));
    assert!(error(&epsilon).contains("layer_norm_eps"));
    let layers = model().set("config.json", "num_hidden_layers", json!(1_u64 << 62));
    assert!(error(&layers).contains("4611686018427387904 layers"), "{}", error(&layers));
}

#[test]
fn a_classifier_is_no_encoder_unless_asked_for() {
    let model = model()
        .set("config.json", "architectures", json!(["BertForSequenceClassification"]))
        .remove("modules.json");
    assert!(error(&model).contains("classifier"));
    let options = LoadOptions { pooling: TextPooling::from_name("mean"), ..LoadOptions::default() };
    assert!(DualEncoder::load(model.path(), &options).is_ok());
}

#[test]
fn what_is_no_weights_file_says_so() {
    for (content, expected) in
        [(&b"\x80\x02pickle"[..], "before 1.6"), (b"PK\x03\x04", "weights"), (b"", "weights")]
    {
        let model = model().remove("model.safetensors");
        fs::write(model.path().join("pytorch_model.bin"), content).unwrap();
        assert!(error(&model).contains(expected), "{}", error(&model));
    }
    let truncated = model();
    let path = truncated.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = truncated.error(&LoadOptions::default());
    assert!(error.to_string().contains("model.safetensors") && error.remedy().is_some());
}

/// What a clone without Git LFS has in the place of files.
#[test]
fn a_pointer_of_git_lfs_says_so() {
    for file in ["model.safetensors", "tokenizer.json", "config.json", "modules.json"] {
        let model = model();
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 123\n";
        fs::write(model.path().join(file), pointer).unwrap();
        let error = model.error(&LoadOptions::default());
        assert!(error.to_string().contains(&format!("{file} is a pointer of Git LFS")), "{error}");
        assert!(error.remedy().unwrap().to_string().contains("git lfs pull"));
    }
}

/// A request for it, and a module, make the same model.
#[test]
fn vectors_are_scaled_to_unit_length_if_that_is_asked_for() {
    let unscaled = || model().edit("modules.json", |modules| drop(modules.as_array_mut().unwrap().pop()));
    let with = |model: &Copy, dim| {
        let options = LoadOptions { normalize_embeddings: true, dim, ..LoadOptions::default() };
        DualEncoder::load(model.path(), &options).unwrap()
    };
    let original = load(&model());
    for model in [model(), unscaled()] {
        assert_eq!(with(&model, None).fingerprint(), original.fingerprint());
        let cut = with(&model, Some(8));
        assert!(cut.tower(Role::Passage).normalizes() && cut.fingerprint() != original.fingerprint());
    }
    let tokens = [original.tower(Role::Passage).tokenize(TEXT).unwrap()];
    let vector = |encoder: &DualEncoder| encoder.tower(Role::Passage).encode(&tokens).unwrap();
    assert_eq!(vector(&with(&unscaled(), None)), vector(&original));
    assert_ne!(vector(&load(&unscaled())), vector(&original));
    assert_ne!(load(&unscaled()).fingerprint(), original.fingerprint());
}

#[test]
fn the_lengths_of_the_roles_are_those_of_sentence_transformers() {
    let file = "sentence_bert_config.json";
    let model = model().set(file, "query_length", json!(8)).set(file, "document_length", json!(16));
    let lengths = |max_length, query_max_length| {
        let options = LoadOptions { max_length, query_max_length, ..LoadOptions::default() };
        let encoder = DualEncoder::load(model.path(), &options).unwrap();
        [Role::Query, Role::Passage].map(|role| encoder.tower(role).max_length())
    };
    assert_eq!(lengths(None, None), [8, 16]);
    assert_eq!(lengths(Some(12), None), [12, 12]);
    assert_eq!(lengths(None, Some(4)), [4, 16]);
    let harmless = json!({"text": {"padding": "max_length"}, "image": {"size": 3}});
    let harmless = self::model().set(file, "processing_kwargs", harmless);
    assert_eq!(fingerprint(&harmless), fingerprint(&self::model()));
    for (key, value, named) in [
        ("query_length", json!(0), "query_length is 0"),
        ("query_expansion", json!({"strategy": "fixed"}), "query_expansion"),
        ("processing_kwargs", json!({"text": {"max_length": 16}}), "\"max_length\" in processing_kwargs"),
    ] {
        let error = error(&self::model().set(file, key, value));
        assert!(error.contains(named), "{error}");
    }
}

/// As sentence-transformers cuts: after the scaling to unit length.
#[test]
fn an_uncut_vector_is_that_of_the_whole_model() {
    let model = model();
    let whole = load(&model);
    let cut =
        DualEncoder::load(model.path(), &LoadOptions { dim: Some(8), ..LoadOptions::default() }).unwrap();
    let (whole, cut) = (whole.tower(Role::Passage), cut.tower(Role::Passage));
    let tokens = [whole.tokenize(TEXT).unwrap()];
    assert_eq!((whole.truncates(), cut.truncates()), (false, true));
    assert_eq!(cut.encode_as(Output::Uncut, &tokens, 1).unwrap(), whole.encode(&tokens).unwrap());
    assert_eq!(cut.encode(&tokens).unwrap().len(), 8);
}

#[test]
fn the_settings_of_sentence_transformers_are_known() {
    let file = "config_sentence_transformers.json";
    let model = model().set(file, "prompts", json!({"query": "q: ", "cls": "c: "}));
    let model =
        model.set(file, "default_prompt_name", json!("cls")).set(file, "similarity_fn_name", json!("dot"));
    let encoder = load(&model);
    assert_eq!(encoder.prompts().keys().collect::<Vec<_>>(), ["cls", "query"]);
    assert_eq!((encoder.default_prompt(), encoder.similarity()), (Some("cls"), Some("dot")));
    // As in sentence-transformers, a role without a prompt has none.
    assert_eq!([Role::Query, Role::Passage].map(|role| encoder.tower(role).prompt()), ["q: ", ""]);
    let null = self::model().set(file, "prompts", json!({"query": null, "document": ""}));
    assert_eq!(fingerprint(&null), fingerprint(&self::model()));
    let plain = load(&self::model());
    assert_eq!((plain.prompts().len(), plain.default_prompt(), plain.similarity()), (0, None, None));
}

/// A tokenizer.json is what counts for a class that reads it as it is; BERT's classes overrule it.
#[test]
fn classes_decide_whether_flags_overrule_a_tokenizer_json() {
    let ids = |class: &str, added: Value| {
        let config = json!({
            "tokenizer_class": class, "do_lower_case": false, "added_tokens_decoder": added,
        });
        let folder = Copy::of(&toller_testing::repository("tests/fixtures/tiny-bert"))
            .edit("tokenizer_config.json", |file| file.clone_from(&config));
        let encoder = DualEncoder::load(folder.path(), &LoadOptions::default()).unwrap();
        encoder.tower(Role::Query).tokenize("The CITY of rivers").unwrap().input_ids
    };
    let none = || json!({});
    let as_it_is = ids("PreTrainedTokenizerFast", none());
    assert_ne!(as_it_is, ids("BertTokenizerFast", none()));
    let vocabulary = as_it_is.len();
    let added = json!({"320": {"content": "of rivers"}});
    assert!(ids("PreTrainedTokenizerFast", added).len() < vocabulary, "an added token is one token");
}
