//! Every architecture against Hugging Face transformers in float64, on the tiny models of
//! `scripts/make-tiny-models`; and what surrounds the transformer against sentence-transformers.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use toller_encoder::{
    CrossEncoder, CrossEncoderOptions, DualEncoder, EncoderError, LoadOptions, NewHead, Role, TextEncoder,
    TextPooling,
};
use toller_ir::Explain;

use crate::common::{Case, Copy, check, lines, relative_error};

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures/models").join(name)
}

fn cases(folder: &Path) -> Vec<Case> {
    let cases: Vec<Case> = lines(&folder.join("expected.jsonl"));
    assert!(cases.len() >= 8);
    cases
}

fn options(pooling: &str) -> LoadOptions {
    LoadOptions { pooling: Some(TextPooling::from_name(pooling).unwrap()), ..LoadOptions::default() }
}

/// Checks the vectors of a tower against those that `expected` takes from the cases.
fn check_all(tower: &TextEncoder, cases: &[Case], expected: impl Fn(&Case) -> &[f64]) {
    check(tower, &cases.iter().collect::<Vec<_>>(), 1e-5, expected);
}

fn load(directory: &Path, options: &LoadOptions) -> DualEncoder {
    DualEncoder::load(directory, &LoadOptions { batch_tokens: Some(1 << 20), ..options.clone() }).unwrap()
}

fn check_mean(directory: &Path, cases: &[Case]) {
    let encoder = load(directory, &options("mean"));
    assert!(encoder.unexpected_tensors().is_empty(), "{:?}", encoder.unexpected_tensors());
    check_all(encoder.tower(Role::Passage), cases, |case| &case.embedding);
}

macro_rules! architectures {
    ($($test:ident: $name:literal;)*) => {$(
        #[test]
        fn $test() {
            let folder = fixture($name);
            let cases = cases(&folder);
            assert!(cases.iter().any(|case| case.input_ids.len() >= 64));
            check_mean(&folder, &cases);
        }
    )*};
}

architectures! {
    bert_with_silu: "bert-pooler";
    distilbert_with_relu: "distilbert";
    electra_with_narrow_embeddings: "electra";
    ernie_with_task_types: "ernie";
    roberta_with_gelu_new: "roberta";
    mpnet_with_relative_positions: "mpnet";
    modernbert_in_its_old_form: "modernbert";
    modernbert_with_all_that_its_new_form_says: "modernbert-biases";
    nomic_bert_of_transformers: "nomic-bert";
    nomic_bert_of_its_authors: "nomic-bert-original";
    qwen3_with_wide_heads_and_shared_keys: "qwen3";
    qwen3_with_local_layers_and_biases: "qwen3-local";
    qwen2_that_sees_both_ways: "qwen2-both-ways";
    mistral_with_windows: "mistral";
    llama_with_biases: "llama";
    qwen3_with_the_rotations_of_yarn: "qwen3-yarn";
    eurobert_with_the_rotations_of_llama_3: "eurobert";
    gte_of_transformers_with_slower_rotations: "gte";
    gte_of_its_authors_with_those_of_ntk: "gte-original";
    t5: "t5";
    mt5_with_gates: "mt5";
    gemma_3_that_sees_both_ways: "gemma3";
    gemma_3_as_a_decoder_in_its_old_form: "gemma3-causal";
}

fn copy_of(name: &str) -> Copy {
    Copy::of(&fixture(name))
}

/// A copy with the modules of sentence-transformers, and this pooling.
fn copy_with_modules(name: &str, pooling: &Value, modules: &[&str]) -> Copy {
    let copy = copy_of(name);
    let entries: Vec<Value> = [&["Transformer", "Pooling"], modules]
        .concat()
        .iter()
        .enumerate()
        .map(|(i, class)| {
            let path = if i == 0 { String::new() } else { format!("{i}_{class}") };
            json!({"idx": i, "name": i.to_string(), "path": path, "type": format!("sentence_transformers.models.{class}")})
        })
        .collect();
    copy.write("modules.json", &json!(entries));
    copy.write("1_Pooling/config.json", pooling);
    copy
}

/// The script asserts that these are RoBERTa under other names.
#[test]
fn camembert_and_xlm_roberta_are_roberta() {
    let cases = cases(&fixture("roberta"));
    for model_type in ["camembert", "xlm-roberta"] {
        let copy = copy_of("roberta").set("config.json", "model_type", json!(model_type));
        check_mean(copy.path(), &cases);
    }
}

/// Snowflake's copy of the authors' code has the authors' names of tensors and transformers' model type.
#[test]
fn gte_has_two_model_types() {
    let copy = copy_of("gte-original").set("config.json", "model_type", json!("gte"));
    check_mean(copy.path(), &cases(&fixture("gte-original")));
}

#[test]
fn dpr_projects_the_first_state() {
    let folder = fixture("dpr-projection");
    let encoder = load(&folder, &LoadOptions::default());
    for (role, tower) in [(Role::Query, "question_encoder"), (Role::Passage, "ctx_encoder")] {
        assert_eq!((encoder.tower(role).dim(), encoder.tower(role).pooling()), (12, "cls".to_owned()));
        check_all(encoder.tower(role), &cases(&folder.join(tower)), |case| &case.embedding);
    }
    // One of the two by itself, with the name that transformers has for its output.
    let copy = copy_of("dpr-projection/ctx_encoder");
    let alone = load(copy.path(), &options("pooler"));
    check_all(alone.tower(Role::Query), &cases(&folder.join("ctx_encoder")), |case| &case.embedding);
}

/// The pooler's output, projected and normed.
#[test]
fn realm_projects_what_its_pooler_makes() {
    let folder = toller_testing::repository("tests/fixtures/realm");
    let encoder = load(&folder, &LoadOptions::default());
    let tower = encoder.tower(Role::Passage);
    assert_eq!((tower.dim(), tower.pooling(), tower.normalizes()), (12, "pooler".to_owned(), false));
    assert!(encoder.unexpected_tensors().is_empty(), "{:?}", encoder.unexpected_tensors());
    check_all(tower, &cases(&folder), |case| &case.embedding);
    // The activation is REALM's own where the configuration has none.
    let copy = Copy::of(&folder).edit("config.json", |config| {
        drop(config.as_object_mut().unwrap().remove("hidden_act"));
    });
    assert_eq!(load(copy.path(), &LoadOptions::default()).fingerprint(), encoder.fingerprint());
}

#[test]
fn poolers_are_those_of_transformers() {
    for name in ["bert-pooler", "roberta"] {
        let encoder = load(&fixture(name), &options("pooler"));
        assert_eq!(encoder.tower(Role::Query).pooling(), "pooler");
        check_all(encoder.tower(Role::Query), &cases(&fixture(name)), |case| case.pooler.as_deref().unwrap());
    }
    for name in ["distilbert", "modernbert", "ernie"] {
        let error = copy_of(name).error(&options("pooler"));
        assert!(error.to_string().contains("no pooler"), "{error}");
        assert!(error.remedy().unwrap().to_string().contains("lasttoken"));
    }
}

#[derive(Deserialize)]
struct Poolings {
    prompt: String,
    text: String,
    poolings: Vec<Pooled>,
}

#[derive(Deserialize)]
struct Pooled {
    pooling_mode: Vec<String>,
    include_prompt: bool,
    embedding: Vec<f64>,
}

/// In today's form, a name or a list of names, and in the old form, a boolean for each.
#[test]
fn poolings_are_those_of_sentence_transformers() {
    let Poolings { prompt, text, poolings } =
        serde_json::from_slice(&fs::read(fixture("poolings.json")).unwrap()).unwrap();
    assert_eq!(poolings.len(), 16);
    for Pooled { pooling_mode: modes, include_prompt, embedding } in poolings {
        let mut forms = vec![json!({"embedding_dimension": 16, "pooling_mode": modes})];
        if let [mode] = &modes[..] {
            forms.push(json!({"embedding_dimension": 16, "pooling_mode": mode}));
        }
        if modes.len() != 2 {
            let key = |mode: &String| match mode.as_str() {
                "cls" => "pooling_mode_cls_token".to_owned(),
                "mean_sqrt_len_tokens" | "lasttoken" => format!("pooling_mode_{mode}"),
                _ => format!("pooling_mode_{mode}_tokens"),
            };
            let mut old = json!({"word_embedding_dimension": 16, "pooling_mode_mean_tokens": false});
            modes.iter().for_each(|mode| old[key(mode)] = json!(true));
            forms.push(old);
        }
        for mut form in forms {
            if !include_prompt {
                form["include_prompt"] = json!(false);
            }
            let copy = copy_with_modules("bert-pooler", &form, &[]);
            let encoder =
                load(copy.path(), &LoadOptions { prompt: Some(prompt.clone()), ..LoadOptions::default() });
            let tower = encoder.tower(Role::Query);
            let tokens = tower.tokenize(&text).unwrap();
            let got = tower.encode(&[tokens]).unwrap();
            let error = relative_error(&got, &embedding);
            assert!(error <= 1e-5, "relative error {error:e} with {form}");
        }
    }
}

#[test]
fn a_prompt_that_is_not_pooled_is_in_the_fingerprint() {
    let fingerprint = |include: bool| {
        let pooling = json!({"pooling_mode": "mean", "include_prompt": include});
        let copy = copy_with_modules("bert-pooler", &pooling, &[]);
        load(copy.path(), &LoadOptions::default()).fingerprint().to_owned()
    };
    assert_ne!(fingerprint(true), fingerprint(false));
}

#[test]
fn matryoshka_keeps_the_first_dimensions() {
    let vectors = |modules: &[&str], options: &LoadOptions, truncate_dim: Option<usize>| {
        let copy = copy_with_modules("mpnet", &json!({"pooling_mode": "mean"}), modules);
        if let Some(dim) = truncate_dim {
            copy.write("config_sentence_transformers.json", &json!({"truncate_dim": dim}));
        }
        let encoder = load(copy.path(), options);
        let tower = encoder.tower(Role::Passage);
        let vector = tower.encode(&[tower.tokenize("a dog for search").unwrap()]).unwrap();
        assert_eq!(vector.len(), tower.dim());
        (vector, encoder.fingerprint().to_owned())
    };
    let keep = |dim| LoadOptions { dim: Some(dim), ..LoadOptions::default() };
    let (whole, fingerprint) = vectors(&[], &LoadOptions::default(), None);
    let (part, other) = vectors(&[], &keep(5), None);
    assert_eq!(part, whole[..5]);
    assert_ne!(other, fingerprint);
    // The model's own number, unless another one is asked for. To keep all dimensions changes nothing.
    assert_eq!(vectors(&[], &LoadOptions::default(), Some(5)), (part, other));
    assert_eq!(vectors(&[], &keep(7), Some(5)).0.len(), 7);
    assert_eq!(vectors(&[], &keep(16), None), (whole.clone(), fingerprint.clone()));
    assert_eq!(vectors(&[], &LoadOptions::default(), Some(99)), (whole, fingerprint));
    // Vectors of unit length have unit length again.
    let (unit, _) = vectors(&["Normalize"], &LoadOptions::default(), None);
    let (part, _) = vectors(&["Normalize"], &keep(5), None);
    let length = unit[..5].iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let expected: Vec<f64> = unit[..5].iter().map(|x| f64::from(*x) / length).collect();
    assert!(length < 0.9 && relative_error(&part, &expected) < 1e-6);

    for asked in [0, 17] {
        let error =
            copy_of("mpnet").error(&LoadOptions { pooling: TextPooling::from_name("mean"), ..keep(asked) });
        assert!(error.to_string().contains("the model makes 16"), "{error}");
        assert!(error.remedy().unwrap().to_string().contains("dim"));
    }
}

/// Pseudo-random numbers from -0.5 to 0.5.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

/// torch's layer norm, with its default epsilon.
fn layer_norm(values: &[f64], weight: &[f32], bias: &[f32]) -> Vec<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let centre = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - centre).powi(2)).collect();
    let scale = 1.0 / (mean(&squares) + 1e-5).sqrt();
    let parts = values.iter().zip(weight).zip(bias);
    parts.map(|((value, w), b)| (value - centre) * scale * f64::from(*w) + f64::from(*b)).collect()
}

fn vector(encoder: &DualEncoder, text: &str) -> Vec<f32> {
    let tower = encoder.tower(Role::Passage);
    tower.encode(&[tower.tokenize(text).unwrap()]).unwrap()
}

/// Pyserini's: a linear layer and a norm over the first state (Xiong et al. 2021).
#[test]
fn ance_projects_and_norms_the_first_state() {
    let plain = || copy_of("roberta").set("config.json", "layer_norm_eps", json!(1e-5));
    let weight = numbers(768 * 16, 1);
    let [bias, gain, shift] = [2, 3, 4].map(|seed| numbers(768, seed));
    let ance = plain().add_tensors(
        "model.safetensors",
        &[
            ("embeddingHead.weight", &[768, 16], weight.clone()),
            ("embeddingHead.bias", &[768], bias.clone()),
            ("norm.weight", &[768], gain.clone()),
            ("norm.bias", &[768], shift.clone()),
        ],
    );
    let encoder = load(ance.path(), &LoadOptions::default());
    let tower = encoder.tower(Role::Passage);
    assert_eq!((tower.dim(), tower.pooling(), tower.pooling_is_assumed()), (768, "cls".to_owned(), false));
    assert!(encoder.unexpected_tensors().is_empty(), "{:?}", encoder.unexpected_tensors());
    let text = "a dog for search";
    let state = vector(&load(plain().path(), &options("cls")), text);
    let projected: Vec<f64> = weight
        .chunks_exact(16)
        .zip(&bias)
        .map(|(row, b)| {
            f64::from(*b) + row.iter().zip(&state).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum::<f64>()
        })
        .collect();
    let expected = layer_norm(&projected, &gain, &shift);
    let error = relative_error(&vector(&encoder, text), &expected);
    assert!(error < 1e-5, "{error:e}");
}

#[test]
fn a_layer_norm_is_a_module() {
    let pooling = json!({"embedding_dimension": 16});
    let plain = copy_with_modules("bert-pooler", &pooling, &[]);
    let [gain, shift] = [3, 4].map(|seed| numbers(16, seed));
    let normed = copy_with_modules("bert-pooler", &pooling, &["LayerNorm"]);
    normed.write("2_LayerNorm/config.json", &json!({"dimension": 16}));
    let tensors = [("norm.weight", &[16][..], gain.clone()), ("norm.bias", &[16][..], shift.clone())];
    let normed = normed.add_tensors("2_LayerNorm/model.safetensors", &tensors);
    let text = "a dog for search";
    let plain = load(plain.path(), &LoadOptions::default());
    // A pooling without a mode is the mean.
    assert_eq!(plain.tower(Role::Passage).pooling(), "mean");
    let pooled: Vec<f64> = vector(&plain, text).into_iter().map(f64::from).collect();
    let encoder = load(normed.path(), &LoadOptions::default());
    let error = relative_error(&vector(&encoder, text), &layer_norm(&pooled, &gain, &shift));
    assert!(error < 1e-5, "{error:e}");
    let wide = normed.set("2_LayerNorm/config.json", "dimension", json!(8));
    assert!(wide.error(&LoadOptions::default()).to_string().contains("takes 8 dimensions"));
}

/// As sentence-transformers' rerankers since its version 6: a pooling and modules, the last of which makes
/// scores.
#[test]
fn a_cross_encoder_may_end_in_modules() {
    let copy =
        copy_with_modules("modernbert", &json!({"pooling_mode": "cls"}), &["Dense", "LayerNorm", "Dense"]);
    let square =
        json!({"in_features": 16, "out_features": 16, "bias": false, "activation_function": "torch.nn.GELU"});
    copy.write("2_Dense/config.json", &square);
    copy.write("3_LayerNorm/config.json", &json!({"dimension": 16}));
    let identity = "torch.nn.modules.linear.Identity";
    let last = json!({"in_features": 16, "out_features": 1, "activation_function": identity});
    copy.write("4_Dense/config.json", &last);
    let copy = copy
        .add_tensors("2_Dense/model.safetensors", &[("linear.weight", &[16, 16], numbers(256, 1))])
        .add_tensors(
            "3_LayerNorm/model.safetensors",
            &[("norm.weight", &[16], numbers(16, 2)), ("norm.bias", &[16], numbers(16, 3))],
        )
        .add_tensors(
            "4_Dense/model.safetensors",
            &[("linear.weight", &[1, 16], numbers(16, 4)), ("linear.bias", &[1], vec![0.5])],
        );
    // With another name for its results, the same is a dual encoder with vectors of one number.
    let vectors = load(copy.path(), &LoadOptions::default());
    assert!(!CrossEncoder::is_in(copy.path()).unwrap());
    let copy = copy.set("4_Dense/config.json", "module_output_name", json!("scores"));
    assert!(CrossEncoder::is_in(copy.path()).unwrap());
    let model = CrossEncoder::load(copy.path(), &CrossEncoderOptions::default()).unwrap();
    assert_eq!(model.labels().len(), 1);
    let pairs = ["the dog", "a passage of the search engine"]
        .map(|passage| model.tokenize_pair("who is the dog", passage).unwrap());
    assert_eq!(model.logits(&pairs).unwrap(), vectors.tower(Role::Passage).encode(&pairs).unwrap());
    assert_eq!(model.score(&pairs).unwrap(), model.logits(&pairs).unwrap());
    let reference = model.reference().unwrap().logits(&pairs[0]).unwrap();
    assert!((reference.logits[0] - model.logits(&pairs).unwrap()[0]).abs() < 1e-5);
    for labels in [json!(0), json!(1u64 << 40)] {
        let wide = Copy::of(copy.path()).set("4_Dense/config.json", "out_features", labels);
        let error = CrossEncoder::load(wide.path(), &CrossEncoderOptions::default()).err().unwrap();
        assert!(error.to_string().contains("labels"), "{error}");
    }
    let options = CrossEncoderOptions {
        new_head: Some(NewHead { labels: 1, seed: 1 }),
        ..CrossEncoderOptions::default()
    };
    let error = CrossEncoder::load(copy.path(), &options).err().unwrap();
    assert!(error.to_string().contains("training"), "{error}");
    let copy = copy.set("2_Dense/config.json", "module_output_name", json!("scores"));
    let error = CrossEncoder::load(copy.path(), &CrossEncoderOptions::default()).err().unwrap();
    assert!(error.to_string().contains("a module after"), "{error}");
}

#[test]
fn what_a_dense_module_cannot_do_is_refused() {
    let dense = |key: &str, value: Value| {
        let copy = copy_with_modules("bert-pooler", &json!({"pooling_mode": "mean"}), &["Dense"]);
        let config = json!({"in_features": 16, "out_features": 4, "bias": false});
        copy.write("2_Dense/config.json", &config);
        copy.set("2_Dense/config.json", key, value)
            .add_tensors("2_Dense/model.safetensors", &[("linear.weight", &[4, 16], numbers(64, 1))])
    };
    let mut tower = load(dense("use_residual", json!(false)).path(), &LoadOptions::default());
    assert_eq!(tower.tower(Role::Passage).dim(), 4);
    tower = load(dense("module_output_name", json!("sentence_embedding")).path(), &LoadOptions::default());
    assert_eq!(tower.tower(Role::Passage).dim(), 4);
    for (key, value) in [
        ("use_residual", json!(true)),
        ("module_input_name", json!("token_embeddings")),
        ("module_output_name", json!("token_embeddings")),
        ("activation_function", json!("torch.nn.modules.activation.ELU")),
    ] {
        let error = dense(key, value.clone()).error(&LoadOptions::default());
        let named = value.as_str().unwrap_or(key);
        assert!(error.to_string().contains(named) && error.remedy().is_some(), "{error}");
    }
    // Scores are a cross-encoder's.
    let error = dense("module_output_name", json!("scores")).error(&LoadOptions::default());
    assert!(matches!(error, EncoderError::Classifier { .. }), "{error}");
    let stray = [("residual.weight", &[4, 16][..], numbers(64, 1))];
    let copy = dense("bias", json!(false)).add_tensors("2_Dense/model.safetensors", &stray);
    assert!(copy.error(&LoadOptions::default()).to_string().contains("\"residual.weight\""));
}

#[test]
fn heads_next_to_the_encoder_are_reported() {
    // HF_ColBERT's, and one of transformers' classes.
    let copy = copy_of("bert-pooler").add_tensors(
        "model.safetensors",
        &[("linear.weight", &[4, 16], numbers(64, 1)), ("qa_outputs.bias", &[1], vec![0.0])],
    );
    let encoder = load(copy.path(), &options("mean"));
    assert_eq!(encoder.unexpected_tensors().into_iter().collect::<Vec<_>>(), ["linear.weight"]);
}

#[test]
fn tensors_without_a_place_are_reported() {
    // ERNIE's task types, in a model that its configuration calls a BERT.
    let copy = copy_of("ernie").set("config.json", "model_type", json!("bert"));
    let encoder = load(copy.path(), &options("mean"));
    let unexpected: Vec<&str> = encoder.unexpected_tensors().into_iter().collect();
    assert_eq!(unexpected, ["embeddings.task_type_embeddings.weight"]);
    // Inside a layer it is an error.
    let copy = copy_of("modernbert-biases").set("config.json", "attention_bias", json!(false));
    let error = copy.error(&options("mean")).to_string();
    assert!(error.contains("layers.0.attn.Wo.bias") && error.contains("no place"), "{error}");
    let error = copy_of("qwen3").set("config.json", "model_type", json!("mistral")).error(&options("mean"));
    assert!(error.to_string().contains("self_attn.k_norm.weight"), "{error}");
}

#[test]
fn missing_tensors_are_named() {
    for (name, key, value, named) in [
        ("modernbert", "mlp_bias", json!(true), "layers.0.mlp.Wi.bias"),
        ("modernbert", "num_hidden_layers", json!(5), "model.layers.4.attn.Wqkv.weight"),
        ("nomic-bert", "num_hidden_layers", json!(3), "layers.2."),
        ("bert-pooler", "model_type", json!("mpnet"), "attention.attn.q.weight"),
        ("mistral", "model_type", json!("qwen2"), "layers.0.self_attn.q_proj.bias"),
        ("roberta", "model_type", json!("distilbert"), "transformer.layer.0.attention.q_lin.weight"),
    ] {
        let copy = copy_of(name).set("config.json", key, value);
        let error = copy.error(&options("mean"));
        assert!(error.to_string().contains(named), "{error}");
        assert!(error.remedy().is_some());
    }
}

/// If one of these settings were read wrongly, or not at all, the tests above would notice.
#[test]
fn what_a_configuration_says_has_an_effect() {
    for (name, key, value) in [
        ("modernbert", "local_attention", json!(26)),
        ("modernbert", "global_attn_every_n_layers", json!(2)),
        ("modernbert", "global_rope_theta", json!(100_000.0)),
        ("modernbert", "local_rope_theta", json!(9_000.0)),
        ("modernbert", "hidden_activation", json!("silu")),
        ("modernbert-biases", "norm_eps", json!(1e-5)),
        (
            "modernbert-biases",
            "layer_types",
            json!(["full_attention", "sliding_attention", "sliding_attention"]),
        ),
        ("modernbert-biases", "rope_parameters", json!({"full_attention": {"rope_theta": 500.0}})),
        ("nomic-bert", "rope_parameters", json!({"rope_theta": 10_000.0})),
        ("nomic-bert", "hidden_act", json!("gelu")),
        ("nomic-bert-original", "activation_function", json!("geglu")),
        ("nomic-bert-original", "rotary_emb_base", json!(10_000)),
        ("qwen3", "rope_theta", json!(1e5)),
        ("qwen3", "rms_norm_eps", json!(1e-2)),
        ("qwen3", "is_causal", json!(false)),
        ("qwen3-local", "sliding_window", json!(8)),
        ("qwen3-local", "use_sliding_window", json!(false)),
        ("qwen3-local", "layer_types", json!(["sliding_attention", "full_attention", "full_attention"])),
        ("qwen2-both-ways", "is_causal", json!(true)),
        ("qwen2-both-ways", "sliding_window", json!(10)),
        ("mistral", "sliding_window", json!(20)),
        ("mistral", "hidden_act", json!("gelu")),
        ("llama", "rope_parameters", json!({"rope_type": "default", "rope_theta": 9_000.0})),
        ("roberta", "hidden_act", json!("gelu")),
        ("ernie", "use_task_id", json!(false)),
    ] {
        let cases = cases(&fixture(name));
        let case = cases.iter().max_by_key(|case| case.input_ids.len()).unwrap();
        let copy = copy_of(name).set("config.json", key, value);
        let encoder = load(copy.path(), &options("mean"));
        let tower = encoder.tower(Role::Passage);
        let got = tower.encode(&[tower.tokenize(&case.text).unwrap()]).unwrap();
        let error = relative_error(&got, &case.embedding);
        assert!(error > 5e-5, "{name} with another {key}: relative error {error:e}");
        let fingerprint = load(&fixture(name), &options("mean")).fingerprint().to_owned();
        assert_ne!(encoder.fingerprint(), fingerprint, "{name} with another {key}");
    }
}
