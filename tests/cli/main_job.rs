//! From a published benchmark to a table of measures.

use std::fs;
use std::path::Path;

use serde_json::Value;
use toller_testing::minilm;

use crate::support::{Finished, Workspace, fixture};

/// Builds XQuAD-R, encodes it with `model`, searches and evaluates; gives back the mean reciprocal rank.
fn reciprocal_rank(model: &Path) -> f64 {
    let workspace = Workspace::with_xquad();
    let with_model = |arguments: &str| {
        Finished::new(workspace.command(arguments).arg("--model").arg(model).output().unwrap()).succeeds()
    };
    with_model("encode --corpus data/corpus.jsonl --output store");
    with_model("search --dense store --queries data/queries.jsonl --k 2000 --output run.txt");
    let report = workspace.runs("eval --json --qrels data/qrels.txt run.txt --measures RR").json();
    assert_eq!(workspace.lines("run.txt").len(), 1190 * 1180);
    assert_eq!(report["runs"][0]["queries"], 1190, "{report:#}");
    report["runs"][0]["aggregates"]["RR"].as_f64().unwrap()
}

#[test]
fn the_tiny_model_scores_what_transformers_and_float64_score() {
    let expected = fs::read(fixture("tiny-bert/expected-xquad-r.json")).unwrap();
    let expected = serde_json::from_slice::<Value>(&expected).unwrap()["RR"].as_f64().unwrap();
    let found = reciprocal_rank(&fixture("tiny-bert"));
    // One answer that changes places with its neighbour, down to the 800th, would change it by more.
    assert!((found - expected).abs() < 1e-9, "RR {found}, {expected} in float64");
}

#[test]
fn minilm_scores_what_sentence_transformers_scores() {
    let Some(model) = minilm() else { return };
    let found = reciprocal_rank(&model);
    assert!((found - 0.794).abs() < 0.002, "RR {found}");
}

/// A text that is cut loses what it says, unnoticed otherwise.
#[test]
fn texts_that_are_cut_are_counted() {
    let workspace = Workspace::new();
    let texts = ["two words", "one two three four", "one two three four five six seven"];
    let line = |(id, text)| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n");
    workspace.write("corpus.jsonl", (0..).zip(texts).map(line).collect::<String>());
    let encode = "encode --model tiny-bert --corpus corpus.jsonl --json --output";
    let all = workspace.runs(&format!("{encode} all"));
    assert_eq!(all.json()["texts_of_most_tokens"], 0);
    assert!(!all.stderr.contains("is cut"), "{}", all.stderr);
    let cut = workspace.runs(&format!("{encode} cut --max-length 8"));
    assert_eq!(cut.json()["texts_of_most_tokens"], 2);
    cut.says(["2 texts have 8 tokens, the most that are taken; what was longer is cut"]);
}
