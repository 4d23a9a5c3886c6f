//! A sparse model that is served: TEI's `/embed_sparse`, and the routes that need vectors.

use serde_json::{Value, json};
use toller_engine::Role;

use crate::support::Running;

const TEXTS: [&str; 3] = ["The city was the first of the state.", "", "city city city"];

/// The terms of an answer with their weights, as bits.
fn terms_of(answer: &Value) -> Vec<Vec<(usize, u32)>> {
    let term = |term: &Value| {
        let weight = term["value"].as_f64().unwrap() as f32;
        (term["index"].as_u64().unwrap() as usize, weight.to_bits())
    };
    let texts = answer.as_array().unwrap().iter();
    texts.map(|terms| terms.as_array().unwrap().iter().map(term).collect()).collect()
}

/// What the encoder of a role gives the texts.
fn expected(server: &Running, role: Role) -> Vec<Vec<(usize, u32)>> {
    let tower = server.encoder.model().tower(role);
    let weights = |text: &&str| tower.encode(&[tower.tokenize(text).unwrap()]).unwrap();
    let positive = |weights: Vec<f32>| {
        let terms = weights.into_iter().enumerate().filter(|(_, weight)| *weight != 0.0);
        terms.map(|(term, weight)| (term, weight.to_bits())).collect()
    };
    TEXTS.iter().map(weights).map(positive).collect()
}

#[test]
fn weights_are_those_of_the_model() {
    let server = Running::of_encoder("sparse-models/router");
    let passages = expected(&server, Role::Passage);
    assert!(passages.iter().all(|terms| !terms.is_empty()));
    for path in ["/embed_sparse", "/", "/invocations"] {
        let answer = server.post(path, &json!({ "inputs": TEXTS, "truncate": true })).ok();
        assert_eq!(terms_of(&answer), passages, "{path}");
    }
    let one = server.post("/embed_sparse", &json!({ "inputs": TEXTS[0], "prompt_name": "document" })).ok();
    assert_eq!(terms_of(&one), passages[..1]);
    // Fixed weights; a text without tokens has none.
    let queries = expected(&server, Role::Query);
    let answer = server.post("/embed_sparse", &json!({ "inputs": TEXTS, "prompt_name": "query" })).ok();
    assert_eq!(terms_of(&answer), queries);
    assert!(queries[1].is_empty() && queries != passages);
    assert_eq!(server.get("/info").ok()["model_type"], json!({ "embedding": { "pooling": "splade" } }));
}

#[test]
fn vectors_and_weights_are_not_taken_for_each_other() {
    let sparse = Running::of_encoder("sparse-models/bert");
    let similar = json!({ "inputs": { "source_sentence": "a", "sentences": ["b"] } });
    let openai = json!({ "input": "a", "model": "sparse-models/bert" });
    for (path, body) in
        [("/embed", &json!({ "inputs": "a" })), ("/similarity", &similar), ("/v1/embeddings", &openai)]
    {
        let answer = sparse.post(path, body);
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
        assert!(answer.json().to_string().contains("ask for /embed_sparse"), "{path}: {}", answer.json());
    }
    let dense = Running::of_encoder("tiny-bert");
    let answer = dense.post("/embed_sparse", &json!({ "inputs": "a" }));
    assert_eq!(answer.status, 424);
    assert!(answer.json()["error"].as_str().unwrap().contains("ask for /embed"), "{}", answer.json());
}
