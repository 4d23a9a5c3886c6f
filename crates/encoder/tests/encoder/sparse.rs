//! Sparse encoders against the vectors that sentence-transformers makes in float64.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toller_encoder::{Compute, DualEncoder, EncoderError, LoadOptions, Output, Role, TextPooling};
use toller_gpu::Devices;
use toller_ir::impacts;
use toller_nn::{Pooling, Precision};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A line of `expected-sparse.jsonl`.
#[derive(Deserialize)]
struct Expected {
    text: String,
    query: Encoded,
    document: Encoded,
}

#[derive(Deserialize)]
struct Encoded {
    input_ids: Vec<u32>,
    weights: BTreeMap<String, f64>,
}

fn model(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures/sparse-models").join(name)
}

fn expected(name: &str) -> Result<Vec<Expected>, Box<dyn std::error::Error>> {
    let lines = fs::read_to_string(model(name).join("expected-sparse.jsonl"))?;
    Ok(lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Compares the weights of all texts in both roles with the expected ones.
fn check(name: &str, directory: &Path, options: &LoadOptions, tolerance: f64) -> Outcome {
    let encoder = DualEncoder::load(directory, options)?;
    for Expected { text, query, document } in expected(name)? {
        for (role, expected) in [(Role::Query, query), (Role::Passage, document)] {
            let tower = encoder.tower(role);
            let tokens = [tower.tokenize(&text)?];
            assert_eq!(tokens[0].input_ids, expected.input_ids, "{name}: {text:?}");
            let terms = tower.terms().ok_or("not sparse")?;
            let weights = tower.encode(&tokens)?;
            assert_eq!(weights.len(), terms.count());
            let slow = match encoder.reference(role) {
                Err(EncoderError::Static) => weights.clone(),
                slow => slow?.encode(&tokens[0])?,
            };
            let mut found = 0;
            for ((term, weight), slow) in terms.names().zip(&weights).zip(&slow) {
                let expected = expected.weights.get(term).copied().unwrap_or_default();
                assert!((f64::from(*slow) - expected).abs() < 1e-5, "{name}, {text:?}, {term}: {slow}");
                let error = (f64::from(*weight) - expected).abs();
                assert!(error < tolerance, "{name}, {text:?}, {term}: {weight}, expected {expected}");
                found += usize::from(expected > 0.0);
            }
            assert_eq!(found, expected.weights.len(), "{name}: terms are missing");
            let text = &tower.impacts(&tokens)?[0];
            for (term, impact) in impacts(text) {
                let exact = 100.0 * expected.weights.get(term).copied().unwrap_or_default();
                assert!((exact - f64::from(impact)).abs() < 0.5 + 100.0 * tolerance, "{term}: {impact}");
            }
        }
    }
    Ok(())
}

#[test]
fn weights_are_those_of_sentence_transformers() -> Outcome {
    let networks =
        ["bert", "bert-log1p", "bert-untied", "distilbert", "roberta", "mpnet", "modernbert", "gte"];
    for name in networks.into_iter().chain(["router"]) {
        check(name, &model(name), &LoadOptions::default(), 5e-5)?;
    }
    Ok(())
}

#[test]
fn a_router_has_an_encoder_for_each_role() -> Outcome {
    let encoder = DualEncoder::load(&model("router"), &LoadOptions::default())?;
    let [query, passage] = [Role::Query, Role::Passage].map(|role| encoder.tower(role));
    assert_eq!((query.pooling().as_str(), passage.pooling().as_str()), ("static", "splade"));
    assert!(!encoder.is_tied() && encoder.passage_fingerprint().is_some());
    // Fixed weights have no special tokens and no states, and are cut where it is asked for.
    assert_eq!(query.tokenize("")?.len(), 0);
    let tokens = [query.tokenize("the city")?];
    assert!(matches!(query.encode_as(Output::States, &tokens, 1), Err(EncoderError::Static)));
    let short = LoadOptions { max_length: Some(3), ..LoadOptions::default() };
    let short = DualEncoder::load(&model("router"), &short)?;
    assert_eq!(short.tower(Role::Query).tokenize("city city city city city")?.len(), 3);
    // The passages' model is that of `bert`, whose queries are others.
    let bert = DualEncoder::load(&model("bert"), &LoadOptions::default())?;
    assert_ne!(bert.fingerprint(), encoder.fingerprint());
    let tokens = [passage.tokenize("The city was the first of the state.")?];
    assert_eq!(passage.impacts(&tokens)?, bert.tower(Role::Passage).impacts(&tokens)?);

    let broken = tempfile::tempdir()?;
    for (name, bytes) in toller_testing::files(&model("router"))? {
        let path = broken.path().join(name);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        fs::write(path, bytes)?;
    }
    let routes = broken.path().join("router_config.json");
    let config = fs::read_to_string(&routes)?;
    let load = |from: &str, to: &str| -> Result<String, Box<dyn std::error::Error>> {
        assert!(config.contains(from));
        fs::write(&routes, config.replacen(from, to, 1))?;
        Ok(DualEncoder::load(broken.path(), &LoadOptions::default()).err().ok_or("loaded")?.to_string())
    };
    let said = load("\"query\": [", "\"anything\": [")?;
    assert!(said.contains("no route \"query\" among anything, document"), "{said}");
    let said = load("\"query_0_SparseStaticEmbedding\"\n", "\"../query\"\n")?;
    assert!(said.contains("leads out of the model's directory"), "{said}");
    let said = load("\"route_mappings\": {}", "\"route_mappings\": {\"(None, 'text')\": \"query\"}")?;
    assert!(said.contains("route_mappings"), "{said}");

    // As published: the passages' model is in the model's own folder.
    fs::write(&routes, config.replace("\"document_0_MLMTransformer\"", "\"\""))?;
    for entry in fs::read_dir(broken.path().join("document_0_MLMTransformer"))? {
        let entry = entry?;
        fs::rename(entry.path(), broken.path().join(entry.file_name()))?;
    }
    let published = DualEncoder::load(broken.path(), &LoadOptions::default())?;
    assert_eq!(published.fingerprint(), encoder.fingerprint());
    Ok(())
}

/// Its vectors would be means of logits.
#[test]
fn a_masked_language_model_without_splade_pooling_is_refused() -> Outcome {
    for name in ["bert", "distilbert"] {
        let folder = tempfile::tempdir()?;
        for (file, bytes) in toller_testing::files(&model(name))? {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
            fs::write(path, bytes)?;
        }
        let modules = folder.path().join("modules.json");
        let mut entries: Vec<serde_json::Value> = serde_json::from_slice(&fs::read(&modules)?)?;
        entries.truncate(1);
        fs::write(&modules, serde_json::to_vec(&entries)?)?;
        let refused = DualEncoder::load(folder.path(), &LoadOptions::default()).err().ok_or("loaded")?;
        assert!(refused.to_string().contains("not pooled by SpladePooling"), "{name}: {refused}");
    }
    Ok(())
}

/// On the stand-in for a GPU. A logit is a sum of large numbers, most of which cancel.
#[test]
fn a_gpu_gives_the_same_weights() -> Outcome {
    let all = ["bert", "roberta", "modernbert"].as_slice();
    let cases =
        [(Precision::F32, 5e-5, all), (Precision::F16, 5e-2, all), (Precision::Bf16, 3e-1, &all[..2])];
    for (dtype, tolerance, names) in cases {
        for name in names {
            let compute = Compute::Gpus(Devices::shim(&[1 << 30]));
            let options = LoadOptions { dtype: Some(dtype), compute, ..LoadOptions::default() };
            check(name, &model(name), &options, tolerance)?;
        }
    }
    Ok(())
}

#[test]
fn a_plain_directory_is_sparse_if_asked() -> Outcome {
    let asked = LoadOptions { pooling: Some(TextPooling::Splade), ..LoadOptions::default() };
    check("bert-plain", &model("bert-plain"), &asked, 5e-5)?;
    let sparse = DualEncoder::load(&model("bert-plain"), &asked)?;
    assert_eq!(sparse.tower(Role::Query).pooling(), "splade");
    let plain = DualEncoder::load(&model("bert-plain"), &LoadOptions::default())?;
    assert!(plain.tower(Role::Query).terms().is_none());
    assert_ne!(plain.fingerprint(), sparse.fingerprint());
    // The other way round, too.
    let dense = LoadOptions { pooling: Some(Pooling::Mean.into()), ..LoadOptions::default() };
    let dense = DualEncoder::load(&model("bert"), &dense)?;
    assert_eq!(dense.tower(Role::Query).dim(), 32);
    let tokens = [dense.tower(Role::Query).tokenize("a")?];
    assert!(matches!(dense.tower(Role::Query).impacts(&tokens), Err(EncoderError::Dense)));
    Ok(())
}

#[test]
fn batches_and_threads_do_not_change_a_bit() -> Outcome {
    let encoder = DualEncoder::load(&model("bert"), &LoadOptions::default())?;
    let tower = encoder.tower(Role::Passage);
    let texts: Vec<String> = (0..600).map(|n| format!("city {n} of the {}", n * 7)).collect();
    let tokens = texts.iter().map(|text| tower.tokenize(text)).collect::<Result<Vec<_>, _>>()?;
    let together = tower.impacts_in_parallel(&tokens)?;
    assert_eq!(together, tower.impacts(&tokens)?);
    for at in [0, 255, 256, 599] {
        assert_eq!(tower.impacts(&tokens[at..=at])?[0], together[at]);
    }
    Ok(())
}

#[test]
fn what_only_vectors_have_is_refused() -> Outcome {
    let load = |name: &str, options: LoadOptions| DualEncoder::load(&model(name), &options);
    for options in [
        LoadOptions { dim: Some(8), ..LoadOptions::default() },
        LoadOptions { normalize_embeddings: true, ..LoadOptions::default() },
    ] {
        assert!(matches!(load("bert", options), Err(EncoderError::Sparse { .. })));
    }
    let refused = load("sum", LoadOptions::default()).err().ok_or("loaded")?.to_string();
    assert!(refused.contains("pooling_strategy \"sum\""), "{refused}");
    let encoder = load("bert", LoadOptions::default())?;
    let tower = encoder.tower(Role::Query);
    let tokens = [tower.tokenize("a")?];
    let shaped = tower.encode_as(Output::Shaped { dim: 3, unit: false }, &tokens, 1);
    assert!(matches!(shaped, Err(EncoderError::Sparse { .. })));
    assert_eq!(tower.encode_as(Output::States, &tokens, 1)?.len(), tokens[0].len() * 32);
    let no_head = toller_testing::repository("tests/fixtures/models/roberta");
    let asked = LoadOptions { pooling: Some(TextPooling::Splade), ..LoadOptions::default() };
    let refused = DualEncoder::load(&no_head, &asked).err().ok_or("loaded")?.to_string();
    assert!(refused.contains("without the head of a masked language model"), "{refused}");
    let towers = LoadOptions { query_model: Some(model("roberta")), ..LoadOptions::default() };
    let refused = load("bert-untied", towers).err().ok_or("loaded")?;
    assert!(matches!(refused, EncoderError::Towers { .. } | EncoderError::TowerTerms), "{refused}");
    Ok(())
}
