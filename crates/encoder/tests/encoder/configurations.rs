//! Configurations: forms that mean the same, and what is refused.

use std::path::PathBuf;

use serde_json::{Value, json};
use toller_checkpoint::Parameters;
use toller_encoder::{DualEncoder, LoadOptions, Role, TextPooling};
use toller_ir::Explain;

use crate::common::{Case, Copy, check, lines, rename_tensors};

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures/models").join(name)
}

fn options(pooling: &str) -> LoadOptions {
    LoadOptions { pooling: TextPooling::from_name(pooling), ..LoadOptions::default() }
}

fn copy_of(name: &str) -> Copy {
    Copy::of(&fixture(name))
}

fn fingerprint(copy: &Copy) -> String {
    DualEncoder::load(copy.path(), &options("mean")).unwrap().fingerprint().to_owned()
}

/// transformers before version 5 has `rope_scaling` next to `rope_theta`, and later versions read both.
#[test]
fn rotations_have_two_forms() {
    let with = |name: &str, fields: &[(&str, Value)]| {
        let copy = copy_of(name).edit("config.json", |config| {
            for name in ["rope_parameters", "rope_scaling", "rope_theta"] {
                drop(config.as_object_mut().unwrap().remove(name));
            }
            fields.iter().for_each(|(name, value)| config[*name] = value.clone());
        });
        fingerprint(&copy)
    };
    let table = json!({"rope_type": "linear", "factor": 4.0});
    let whole = json!({"rope_type": "linear", "factor": 4.0, "rope_theta": 77.0});
    for name in ["qwen3", "nomic-bert", "gte"] {
        let new = with(name, &[("rope_parameters", whole.clone())]);
        let old = with(name, &[("rope_scaling", table.clone()), ("rope_theta", json!(77.0))]);
        assert_eq!(new, old, "{name}");
        let empty = with(name, &[("rope_parameters", whole.clone()), ("rope_scaling", json!({}))]);
        assert_eq!(new, empty, "{name}");
        assert_ne!(new, with(name, &[("rope_theta", json!(77.0))]), "{name}");
    }
    // Two kinds of layers: the old table goes before both of ModernBERT's, and before one of Gemma's.
    let kinds = |global: f64, local: f64| {
        let kind = |factor: f64| json!({"rope_type": "linear", "factor": factor, "rope_theta": 9.0});
        json!({"full_attention": kind(global), "sliding_attention": kind(local)})
    };
    for (name, local) in [("modernbert-biases", 4.0), ("gemma3", 2.0)] {
        let both = with(name, &[("rope_parameters", kinds(2.0, 2.0)), ("rope_scaling", table.clone())]);
        assert_eq!(both, with(name, &[("rope_parameters", kinds(4.0, local))]), "{name}");
    }
}

/// T5's word embeddings have two names, of which either may be in the files, or both.
#[test]
fn either_name_of_t5s_words_will_do() {
    let cases: Vec<Case> = lines(&fixture("t5").join("expected.jsonl"));
    let cases: Vec<&Case> = cases.iter().collect();
    let (usual, other) = ("shared.weight", "encoder.embed_tokens.weight");
    let alone = copy_of("t5");
    rename_tensors(&alone.path().join("model.safetensors"), usual, other);
    let shape = [51, 20];
    let words = Parameters::open(&fixture("t5")).unwrap().get(usual, &shape).unwrap();
    let both =
        copy_of("t5").add_tensors("model.safetensors", &[(other, &shape[..], words.values().to_vec())]);
    for copy in [alone, both] {
        let encoder = DualEncoder::load(copy.path(), &options("mean")).unwrap();
        assert!(encoder.unexpected_tensors().is_empty(), "{:?}", encoder.unexpected_tensors());
        check(encoder.tower(Role::Passage), &cases, 1e-5, |case| &case.embedding);
    }
}

/// Nothing depends on T5's length: its configuration only says what is usual.
#[test]
fn t5_reads_texts_of_any_length() {
    let length = |copy: &Copy, asked: Option<usize>| {
        let options = LoadOptions { max_length: asked, ..options("mean") };
        DualEncoder::load(copy.path(), &options).unwrap().tower(Role::Query).max_length()
    };
    let copy = copy_of("t5");
    assert_eq!([length(&copy, None), length(&copy, Some(3000))], [512, 3000]);
    let copy = copy.set("tokenizer_config.json", "model_max_length", json!(1024));
    assert_eq!(length(&copy, None), 1024);
    let copy = copy.edit("tokenizer_config.json", |config| *config = json!({}));
    let copy = copy.set("config.json", "n_positions", json!(77));
    assert_eq!(length(&copy, None), 77);
}

#[test]
fn what_no_architecture_has_is_refused_by_name() {
    for (name, key, value, named) in [
        ("modernbert", "rope_scaling", json!({"type": "su"}), "su"),
        ("modernbert", "global_attn_every_n_layers", json!(0), "global_attn_every_n_layers"),
        ("modernbert-biases", "layer_types", json!(["full_attention"]), "1 layer_types for 3 layers"),
        ("modernbert-biases", "layer_types", json!(["x", "y", "z"]), "\"x\""),
        (
            "modernbert-biases",
            "rope_parameters",
            json!({"full_attention": {"rope_type": "longrope"}}),
            "longrope",
        ),
        (
            "modernbert-biases",
            "rope_parameters",
            json!({"full_attention": {"rope_theta": "a"}}),
            "rope_theta",
        ),
        ("modernbert-biases", "rope_parameters", json!({"full_attention": {"rope_theta": -1}}), "-1"),
        ("modernbert-biases", "hidden_activation", json!("quick_gelu"), "known are gelu"),
        ("mpnet", "relative_attention_num_buckets", json!(8), "relative_attention_num_buckets 8"),
        ("nomic-bert", "head_dim", json!(12), "head_dim 12"),
        ("nomic-bert-original", "rotary_emb_fraction", json!(0.5), "rotary_emb_fraction 0.5"),
        ("nomic-bert-original", "prenorm", json!(true), "prenorm"),
        ("nomic-bert-original", "num_experts", json!(8), "experts"),
        ("nomic-bert-original", "rotary_scaling_factor", json!(2.0), "rotary_scaling_factor"),
        ("qwen3", "rope_scaling", json!({"rope_type": "llama3", "factor": 8.0}), "\"low_freq_factor\""),
        ("qwen3", "rope_scaling", json!({"rope_type": "linear", "factor": 0.0}), "factor is 0.0"),
        ("qwen3", "rope_scaling", json!({"rope_type": "linear", "factor": 1e60}), "useless frequencies"),
        ("qwen3", "rope_scaling", json!({"rope_type": "linear"}), "\"factor\""),
        ("qwen3", "rope_scaling", json!({"type": 7}), "7"),
        ("qwen3", "rope_scaling", json!("yarn"), "is \"yarn\""),
        ("qwen3", "rope_scaling", json!({"full_attention": {"rope_type": "linear"}}), "full_attention"),
        ("qwen3", "rope_scaling", json!({"type": "ntk", "factor": 2}), "ntk"),
        (
            "qwen3",
            "rope_scaling",
            json!({"type": "llama3", "factor": 2, "low_freq_factor": 4, "high_freq_factor": 1}),
            "not below high_freq_factor",
        ),
        (
            "qwen3",
            "rope_scaling",
            json!({"type": "yarn", "factor": 2, "original_max_position_embeddings": 0}),
            "original_max_position_embeddings is 0",
        ),
        ("gte-original", "rope_scaling", json!({"type": "ntk", "factor": 2, "mixed_b": 0.6}), "mixed_b"),
        ("gte-original", "position_embedding_type", json!("absolute"), "position_embedding_type"),
        ("gte-original", "layer_norm_type", json!("rms_norm"), "rms_norm"),
        ("gte-original", "pack_qkv", json!(false), "pack_qkv"),
        ("gte-original", "logn_attention_scale", json!(true), "logn_attention_scale"),
        ("t5", "relative_attention_max_distance", json!(64), "distances up to 64"),
        ("t5", "feed_forward_proj", json!("gated-what"), "what"),
        ("t5", "d_kv", json!(0), "heads of 0"),
        ("gemma3", "attn_logit_softcapping", json!(50.0), "attn_logit_softcapping 50"),
        ("gemma3", "sliding_window", json!(0), "sliding_window"),
        ("gemma3", "query_pre_attn_scalar", json!(0), "query_pre_attn_scalar is 0"),
        ("gemma3-causal", "sliding_window_pattern", json!(0), "pattern"),
        ("qwen3", "num_key_value_heads", json!(3), "4 heads do not share 3"),
        ("qwen3", "num_key_value_heads", json!(0), "0 heads of keys"),
        ("qwen3", "head_dim", json!(0), "heads of 0"),
        ("qwen3", "head_dim", json!(9), "heads of 9"),
        ("qwen3", "head_dim", json!(1u64 << 62), "largest possible"),
        ("llama", "num_attention_heads", json!(3), "3 heads"),
        ("mistral", "sliding_window", json!(0), "sliding_window is 0"),
        ("qwen3-local", "layer_types", json!(["full_attention"]), "1 layer_types for 3 layers"),
        ("qwen3", "layer_types", json!(["full_attention", "linear_attention"]), "linear_attention"),
    ] {
        let copy = copy_of(name).set("config.json", key, value);
        let error = copy.error(&options("mean"));
        assert!(error.to_string().contains(named), "{error}");
    }
    let copy = copy_of("qwen3").set("config.json", "rope_scaling", json!({"type": "longrope"}));
    let remedy = copy.error(&options("mean")).remedy().unwrap().to_string();
    assert!(remedy.contains("llama3 and yarn"), "{remedy}");
}
