//! What the stages of a search gave each hit.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{PASSAGES, Running};

/// Rank and score of each hit.
fn ranks(answer: &Value) -> HashMap<String, (u64, f64)> {
    let hits = answer["results"][0]["hits"].as_array().unwrap().iter();
    hits.map(|hit| (hit["id"].as_str().unwrap().to_owned(), standing(hit))).collect()
}

fn standing(of: &Value) -> (u64, f64) {
    (of["rank"].as_u64().unwrap(), of["score"].as_f64().unwrap())
}

#[test]
fn each_stage_has_the_ranks_and_scores_of_its_own_search() {
    let server = Running::start();
    let search = |system: &str, rerank: bool| {
        let body =
            json!({ "query": "who lures ducks?", "system": system, "rerank": rerank, "k": PASSAGES.len() });
        server.post("/v1/search", &body).ok()
    };
    let alone = HashMap::from([
        ("postings", ranks(&search("sparse", false))),
        ("scan", ranks(&search("dense", false))),
        ("fuse", ranks(&search("hybrid", false))),
    ]);
    assert!(search("dense", false)["results"][0]["hits"][0]["before"].is_null());
    for (rerank, stages) in [(false, &["postings", "scan"][..]), (true, &["postings", "scan", "fuse"])] {
        let answer = search("hybrid", rerank);
        for hit in answer["results"][0]["hits"].as_array().unwrap() {
            let id = hit["id"].as_str().unwrap();
            let expected: Vec<_> =
                stages.iter().filter_map(|stage| Some((*stage, *alone[stage].get(id)?))).collect();
            let before = hit["before"].as_array().unwrap().iter();
            let found: Vec<_> =
                before.map(|stage| (stage["stage"].as_str().unwrap(), standing(stage))).collect();
            assert_eq!(found, expected, "{id}");
        }
    }
}
