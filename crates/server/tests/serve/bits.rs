//! Answers have the bits of the command line, however requests are batched.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use toller_engine::{
    EncodeOptions, EncoderOptions, Engine, IndexOptions, Query, Ranking, ReadOptions, Role, SearchRequest,
    Searcher, SparseOptions,
};
use toller_server::Systems;

use crate::support::{PASSAGES, Running, fixture, write_corpus};

/// More than there are texts: multiples of a number, modulo a prime, are every number once.
const PRIME: usize = 1009;

/// Texts of different lengths, some empty.
fn texts() -> Vec<String> {
    let words = ["toller", "ducks", "lakes", "query", "passage", "index", "of", "the", "déjà", "犬"];
    let text = |number: usize| {
        (0..number * 7 % 90)
            .map(|at| words[(number * 31 + at * at) % words.len()])
            .collect::<Vec<_>>()
            .join(" ")
    };
    (0..1000).map(text).collect()
}

fn numbers(vector: &Value) -> Vec<f32> {
    vector.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

#[test]
fn vectors_have_the_same_bits_in_every_batch() {
    let server = Running::start();
    let texts = texts();
    let dim = server.encoder.dim();
    let expected = server.encoder.encode(Role::Passage, &texts).unwrap();
    let expected: Vec<&[f32]> = expected.chunks_exact(dim).collect();
    // Singly, by 64 clients, in an order that none of them decides.
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let mut client = server.client();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= PRIME {
                        break;
                    }
                    let place = number * 37 % PRIME;
                    let Some(text) = texts.get(place) else { continue };
                    let answer = client.post("/embed", &json!({ "inputs": text })).ok();
                    assert_eq!(numbers(&answer[0]), expected[place], "{text:?}");
                }
            });
        }
    });
    // In batches, as numbers and in base64.
    for (batch, expected) in texts.chunks(32).zip(expected.chunks(32)) {
        let answer = server.post("/embed", &json!({ "inputs": batch })).ok();
        let found: Vec<Vec<f32>> = answer.as_array().unwrap().iter().map(numbers).collect();
        assert_eq!(found, expected);
        let body = json!({ "input": batch, "model": "tiny-bert", "encoding_format": "base64" });
        let answer = server.post("/v1/embeddings", &body).ok();
        for (item, expected) in answer["data"].as_array().unwrap().iter().zip(expected) {
            let bytes = STANDARD.decode(item["embedding"].as_str().unwrap()).unwrap();
            let found: Vec<f32> =
                bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            assert_eq!(found, *expected);
        }
    }
}

#[test]
fn fewer_dimensions_are_those_of_a_model_with_fewer() {
    let server = Running::start();
    let options = toller_engine::EncoderOptions { dim: Some(8), ..Default::default() };
    let small = server.engine.encoder(&fixture("tiny-bert"), &options).unwrap();
    let texts = ["ducks", "a toller lures ducks"];
    let expected = small.encode(Role::Passage, &texts).unwrap();
    let answer = server.post("/embed", &json!({ "inputs": texts, "dimensions": 8 })).ok();
    let found: Vec<f32> = answer.as_array().unwrap().iter().flat_map(numbers).collect();
    assert_eq!(found, expected);
    let unit = server.post("/embed", &json!({ "inputs": texts, "dimensions": 8, "normalize": true })).ok();
    let length: f32 = numbers(&unit[1]).iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-5);
    let raw = server.post("/embed", &json!({ "inputs": texts, "normalize": false })).ok();
    let all = server.post("/embed_all", &json!({ "inputs": texts })).ok();
    let states: Vec<Vec<f32>> = all[1].as_array().unwrap().iter().map(numbers).collect();
    let mean = |at: usize| states.iter().map(|state| state[at]).sum::<f32>() / states.len() as f32;
    for (at, found) in numbers(&raw[1]).into_iter().enumerate() {
        assert!((mean(at) - found).abs() < 1e-4, "{at}");
    }
}

/// The files of tiny-bert without the scaling to unit length, and with two words in each other's place.
fn other_model(folder: &Path) {
    let from = toller_testing::repository("tests/fixtures/tiny-bert");
    std::fs::create_dir(folder.join("1_Pooling")).unwrap();
    for name in ["config.json", "model.safetensors", "sentence_bert_config.json", "1_Pooling/config.json"] {
        std::fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    let read =
        |name: &str| -> Value { serde_json::from_slice(&std::fs::read(from.join(name)).unwrap()).unwrap() };
    let mut modules = read("modules.json");
    modules.as_array_mut().unwrap().pop();
    let mut tokenizer = read("tokenizer.json");
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    let ids = WORDS.map(|word| vocabulary[word].clone());
    WORDS.iter().rev().zip(ids).for_each(|(word, id)| vocabulary[*word] = id);
    for (name, content) in [("modules.json", modules), ("tokenizer.json", tokenizer)] {
        std::fs::write(folder.join(name), content.to_string()).unwrap();
    }
}

const WORDS: [&str; 2] = ["metropolitan", "out"];

#[test]
fn queries_are_treated_as_by_their_own_model() {
    let folder = tempfile::tempdir().unwrap();
    other_model(folder.path());
    let server = Running::with_query_model(folder.path());
    let length = |path: &str, body: Value, vector: &str| {
        let answer = server.post(path, &body).ok();
        numbers(answer.pointer(vector).unwrap()).iter().map(|x| x * x).sum::<f32>().sqrt()
    };
    let embed = |role: &str, normalize: Option<bool>| {
        let body = json!({ "inputs": WORDS, "prompt_name": role, "normalize": normalize, "dimensions": 16 });
        length("/embed", body, "/0")
    };
    assert!((embed("passage", None) - 1.0).abs() < 1e-5);
    assert!((embed("query", Some(true)) - 1.0).abs() < 1e-5);
    assert!(embed("query", None) > 1.5, "the queries' model does not scale its vectors");
    let body = json!({ "input": WORDS, "input_type": "query", "normalized": true });
    assert!((length("/v1/embeddings", body, "/data/0/embedding") - 1.0).abs() < 1e-5);
    let id = |role: &str, word: &str| {
        let body = json!({ "inputs": word, "prompt_name": role, "add_special_tokens": false });
        server.post("/tokenize", &body).ok()[0][0]["id"].clone()
    };
    assert_eq!(id("query", WORDS[0]), id("passage", WORDS[1]));
    assert_ne!(id("query", WORDS[0]), id("passage", WORDS[0]));
}

fn queries(texts: &[&str]) -> Vec<Query> {
    texts.iter().map(|text| Query { text: (*text).to_owned(), ..Query::default() }).collect()
}

/// The identifiers of each query's hits, and the bits of their scores.
type Hits = Vec<Vec<(String, u32)>>;

/// The hits that a searcher finds.
fn hits_of(searcher: &dyn Searcher, queries: &[Query], k: usize) -> Hits {
    let rankings = searcher.search(&SearchRequest::new(queries, k)).unwrap().rankings;
    let hits_of = |ranking: &Ranking| {
        let hits = ranking.hits.iter();
        hits.map(|hit| (searcher.doc_id(hit.doc).into_owned(), hit.score.to_bits())).collect()
    };
    rankings.iter().map(hits_of).collect()
}

/// The hits in an answer.
fn hits_in(answer: &Value) -> Hits {
    let hit = |hit: &Value| {
        let score = hit["score"].as_f64().unwrap() as f32;
        (hit["id"].as_str().unwrap().to_owned(), score.to_bits())
    };
    let results = answer["results"].as_array().unwrap().iter();
    results.map(|result| result["hits"].as_array().unwrap().iter().map(hit).collect()).collect()
}

#[test]
fn hits_are_those_of_the_searchers() {
    let server = Running::start();
    let texts = ["who lures ducks?", "lists of documents", "a dog", "", "nothing of all this"];
    let queries = queries(&texts);
    let systems = &server.systems;
    let sparse = systems.sparse.clone().unwrap() as Arc<dyn Searcher>;
    let [dense, hybrid] = [&systems.dense, &systems.hybrid].map(|system| system.clone().unwrap());
    let reranker = systems.reranker.clone().unwrap();
    for (name, searcher) in [("sparse", sparse), ("dense", dense), ("hybrid", hybrid)] {
        let reranked: Arc<dyn Searcher> = server.engine.reranked(searcher.clone(), reranker.clone());
        for (rerank, searcher) in [(false, searcher), (true, reranked)] {
            let expected = hits_of(&*searcher, &queries, 4);
            let body = json!({ "query": texts, "system": name, "k": 4, "rerank": rerank });
            let found = hits_in(&server.post("/v1/search", &body).ok());
            assert_eq!(found, expected, "{name}, reranked: {rerank}");
        }
    }
}

/// Only an index of the impacts that a sparse model gives the passages.
fn with_impacts(all: Systems) -> Systems {
    let engine = Engine::builder().threads(2).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [store, index] = ["store", "index"].map(|name| folder.path().join(name));
    let files = engine.collection_files(&[write_corpus(folder.path())]).unwrap();
    let source = engine.collection(&files, &store, &ReadOptions::default()).unwrap();
    let model = engine.encoder(&fixture("sparse-models/bert"), &EncoderOptions::default()).unwrap();
    let stop = AtomicBool::new(false);
    engine.encode(&model, &source, &store, &EncodeOptions::default(), &stop).unwrap();
    let impacts = engine.open_impacts(&store, true).unwrap();
    engine.index_impacts(&impacts, &index, &IndexOptions::default(), &stop).unwrap();
    let sparse = engine.sparse(&index, &SparseOptions::default()).unwrap();
    Systems { sparse: Some(sparse), dense: None, hybrid: None, ..all }
}

#[test]
fn texts_are_searched_for_in_an_index_of_impacts() {
    let server = Running::with_part(with_impacts);
    let texts = ["who lures ducks?", "lists of documents", "a dog", "nothing of all this"];
    let searcher = server.systems.sparse.clone().unwrap() as Arc<dyn Searcher>;
    let expected = hits_of(&*searcher, &queries(&texts), 4);
    assert!(expected.iter().all(|hits| !hits.is_empty()), "{expected:?}");
    let answer = server.post("/v1/search", &json!({ "query": texts, "k": 4 })).ok();
    assert_eq!(hits_in(&answer), expected);
    // One by one, and reranked by the texts.
    let reranked = server.engine.reranked(searcher, server.systems.reranker.clone().unwrap());
    for (text, expected) in texts.iter().zip(&expected) {
        let answer = server.post("/v1/search", &json!({ "query": text, "k": 4 })).ok();
        assert_eq!(hits_in(&answer), std::slice::from_ref(expected));
        let body = json!({ "query": text, "k": 4, "rerank": true });
        let answer = server.post("/v1/search", &body).ok();
        assert_eq!(hits_in(&answer), hits_of(&*reranked, &queries(&[*text]), 4));
    }
    // The parts of a score are products of impacts.
    let (id, bits) = &expected[0][0];
    let body = json!({ "query": texts[0], "ids": [id] });
    let explained = &server.post("/v1/explain", &body).ok()[0];
    let number = |term: &Value, key: &str| term[key].as_f64().unwrap() as f32;
    let terms = explained["terms"].as_array().unwrap().iter();
    let products = terms.map(|term| number(term, "weight") * number(term, "frequency"));
    assert_eq!(products.sum::<f32>(), f32::from_bits(*bits));
}

#[test]
fn documents_are_cut_where_a_request_says() {
    let server = Running::start();
    let query = "who lures ducks?";
    let whole = "ducks swim on lakes and a dog fetches them";
    let model = server.engine.cross_encoder(&fixture("cross-encoders/roberta"), &Default::default()).unwrap();
    let tokens = model.tokenizer().inspect(whole, false).unwrap();
    for path in ["/v1/rerank", "/v2/rerank", "/rerank"] {
        let score = |document: &str, most: Option<usize>| {
            let body = json!({ "query": query, "documents": [document], "max_tokens_per_doc": most });
            server.post(path, &body).ok()["results"][0]["relevance_score"].clone()
        };
        for most in [1, 3, tokens.len()] {
            let text = &whole[..tokens[most - 1].bytes.clone().unwrap().end];
            assert_eq!(score(whole, Some(most)), score(text, None), "{path} {most}");
        }
        assert_eq!(score(whole, Some(4096)), score(whole, None), "{path}");
        assert_ne!(score(whole, Some(1)), score(whole, None), "{path}");
    }
}

#[test]
fn scores_are_those_of_the_reranker() {
    let server = Running::start();
    let model = server.engine.cross_encoder(&fixture("cross-encoders/roberta"), &Default::default()).unwrap();
    let texts: Vec<&str> = PASSAGES.iter().map(|(_, text)| *text).collect();
    let query = "who lures ducks?";
    let pairs: Vec<_> = texts.iter().map(|text| model.tokenize_pair(query, text).unwrap()).collect();
    let scores = model.score(&pairs).unwrap();
    let answer = server.post("/rerank", &json!({ "query": query, "texts": texts, "raw_scores": true })).ok();
    let ranked = answer.as_array().unwrap();
    assert_eq!(ranked.len(), texts.len());
    for entry in ranked {
        let place = entry["index"].as_u64().unwrap() as usize;
        assert_eq!(entry["score"].as_f64().unwrap() as f32, scores[place]);
    }
    let some =
        json!({ "query": query, "texts": texts, "raw_scores": true, "top_n": 2, "return_documents": true });
    let some = server.post("/rerank", &some).ok();
    for (entry, of_all) in some.as_array().unwrap().iter().zip(ranked) {
        assert_eq!((&entry["index"], &entry["score"]), (&of_all["index"], &of_all["score"]));
        assert_eq!(entry["text"], texts[entry["index"].as_u64().unwrap() as usize]);
    }
    assert_eq!(some.as_array().unwrap().len(), 2);
    let falling: Vec<f64> = ranked.iter().map(|entry| entry["score"].as_f64().unwrap()).collect();
    assert!(falling.is_sorted_by(|a, b| a >= b));
}
