//! Stores of impacts, which a sparse model makes: encoded, described, verified, exported, repaired.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use serde_json::{Value, json};
use toller_files::{Input, InputReader};

use crate::support::{Workspace, assert_has, fixture};

const ENCODE: &str = "encode --model sparse-models/bert --corpus corpus.jsonl --rows-per-shard 2";

/// The five texts of the fixture that have words, with the weights of their terms as sentence-transformers
/// computes them.
fn texts() -> Vec<(String, BTreeMap<String, f64>)> {
    let lines = fs::read_to_string(fixture("sparse-models/bert/expected-sparse.jsonl")).unwrap();
    let lines = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = line["text"].as_str().unwrap().to_owned();
        let weights: BTreeMap<String, f64> =
            serde_json::from_value(line["document"]["weights"].clone()).unwrap();
        (text, weights)
    });
    lines.filter(|(text, _)| !text.is_empty()).collect()
}

/// The model, and a collection of the texts.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.add_fixture("sparse-models/bert");
    let lines = texts().into_iter().enumerate();
    let lines =
        lines.map(|(at, (text, _))| json!({"_id": format!("d{at}"), "text": text}).to_string() + "\n");
    workspace.write("corpus.jsonl", lines.collect::<String>());
    workspace
}

/// The lines of a file, which may be compressed.
fn lines(workspace: &Workspace, name: &str) -> Vec<Value> {
    let mut text = String::new();
    let mut reader = InputReader::open(&Input::File(workspace.path(name))).unwrap();
    reader.read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks that a line has the terms of these weights, each with 100 times its weight.
#[track_caller]
fn assert_impacts(line: &Value, weights: &BTreeMap<String, f64>) {
    let vector = line["vector"].as_object().unwrap();
    assert_eq!(vector.len(), weights.len(), "{line}");
    for (term, weight) in weights {
        let impact = vector[term].as_u64().unwrap() as f64;
        assert!(
            (impact - (100.0 * weight).round()).abs() <= 1.0,
            "{term}: {impact}, expected 100 * {weight}"
        );
    }
}

#[test]
fn impacts_are_exported_as_the_model_gives_them() {
    let workspace = workspace();
    let encoded = workspace.runs(&format!("{ENCODE} --output store --codes none"));
    encoded.says(["5 rows of impacts over 319 terms in store"]);
    assert!(!encoded.stderr.contains("no term with a weight"), "{}", encoded.stderr);
    let again = workspace.runs(&format!("{ENCODE} --output store --json"));
    assert_has(&again.json(), json!({"rows": 5, "complete": true, "dim": 319, "dtype": "impacts"}));
    again.says(["store is complete; nothing to do"]);

    let lines_of = |name: &str| lines(&workspace, name);
    for output in ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst"] {
        let export = format!("store export store --output {output}");
        let exported = workspace.runs(&format!("{export} --json"));
        exported.says([format!("exported the impacts of 5 texts over 319 terms to {output}")]);
        let bytes = workspace.read(output).len();
        assert_has(
            &exported.json(),
            json!({"format": "jsonl", "files": [output], "bytes": bytes, "rows": 5, "dim": 319}),
        );
        let found = lines_of(output);
        assert_eq!(found.len(), 5, "{output}");
        for (at, (line, (_, weights))) in found.iter().zip(texts()).enumerate() {
            assert_has(line, json!({"id": format!("d{at}"), "contents": ""}));
            assert_impacts(line, &weights);
        }
        let replace = "hint: give another --output, or replace it with `--overwrite`";
        workspace.toller(&export).fails(1, &[&format!("{output} is there already"), replace]);
        workspace.write(output, "old");
        workspace.runs(&format!("{export} --overwrite --no-verify"));
        assert_eq!(lines_of(output), found);
    }
    // The name may be another if the format is given.
    workspace.runs("store export store --output vectors --format jsonl");
    assert!(workspace.read("vectors") == workspace.read("x.jsonl"));
    workspace.runs("index -q --impact --corpus x.jsonl.gz --output index");

    workspace.write("q.jsonl", json!({"_id": "q", "text": texts()[0].0}).to_string());
    workspace.runs("encode -q --model sparse-models/bert --queries q.jsonl --output queries");
    workspace.runs("store export -q queries --output q-vectors.jsonl");
    assert_impacts(&lines_of("q-vectors.jsonl")[0], &texts()[0].1);
}

#[test]
fn info_and_verify_know_impacts() {
    let workspace = workspace();
    workspace.runs(&format!("{ENCODE} -q --output store"));
    let info = workspace.runs("store info store").stdout;
    for says in [
        "texts        5\n", "terms        319 in the vocabulary\n", "dtype        impacts\n",
        "role         passage\n", "shards       3 of up to 2 rows\n", "source       5 texts",
    ] {
        assert!(info.contains(says), "{says:?} is not in:\n{info}");
    }
    for of_vectors in ["vectors", "dimension", "normalized", "codes"] {
        assert!(!info.lines().any(|line| line.starts_with(of_vectors)), "{of_vectors} is in:\n{info}");
    }
    let info = workspace.runs("store info store --json").json();
    assert_has(
        &info["stores"][0],
        json!({"rows": 5, "dim": 319, "dtype": "impacts", "parts_with_codes": 0, "codes_bytes": 0}),
    );
    workspace.runs("store verify store").says(["verified 3 shards with 5 rows"]);
    workspace.runs("store status store");
    // Next to a store of vectors.
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output vectors");
    workspace.runs("store verify vectors store").says(["with 10 rows"]);
}

#[test]
fn only_what_is_damaged_is_written_again() {
    let workspace = workspace();
    workspace.runs(&format!("{ENCODE} -q --output store"));
    let whole = workspace.files_in("store");
    workspace.flip_byte("store/shard-00000.safetensors", 1);
    fs::remove_file(workspace.path("store/shard-00002.safetensors")).unwrap();
    let verified = workspace.toller("store verify store");
    assert_eq!((verified.code, verified.stdout.lines().count()), (Some(1), 2), "{}", verified.stdout);
    verified.prints([
        "store/shard-00000.safetensors cannot be used: its checksum is xxh3-128:",
        ": rows 1 to 2",
        "store/shard-00002.safetensors cannot be used: it is missing: rows 5 to 5",
    ]);
    verified.says(["2 of 3 shards are damaged or missing, with 3 of 5 rows", "hint: "]);
    let export = "store export store --output x.jsonl";
    workspace.toller(export).fails(1, &["shard-0000", "cannot be used", "hint: "]);
    assert!(!workspace.has_trace_of("x.jsonl"));

    let encoded = workspace.runs(&format!("{ENCODE} --output store --json"));
    assert_has(&encoded.json(), json!({"encoded_rows": 3, "rows": 5}));
    assert!(workspace.files_in("store") == whole);
    workspace.runs("store verify -q store");
    workspace.runs(export);
}

#[test]
fn parts_are_exported_as_the_whole() {
    let workspace = workspace();
    workspace.runs(&format!("{ENCODE} -q --output whole"));
    workspace.runs("store export whole --output whole.jsonl");
    workspace.runs(&format!("{ENCODE} -q --output parts --shard 2/2"));
    workspace
        .toller("store export parts --output parts.jsonl")
        .fails(1, &["the store parts has 1 of 2 parts"]);
    workspace.runs(&format!("{ENCODE} -q --output parts --shard 1/2"));
    workspace.runs("store export parts --output parts.jsonl");
    assert!(workspace.read("parts.jsonl") == workspace.read("whole.jsonl"));
    workspace.runs("store verify parts").says(["with 5 rows"]);
    workspace.runs("store info parts").prints(["texts        5\n", " in 2 parts, of up to 2 rows\n"]);
    workspace.runs("store status parts");
}

#[test]
fn impacts_are_not_vectors() {
    let workspace = workspace();
    workspace.runs(&format!("{ENCODE} -q --output impacts"));
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output vectors");
    workspace.runs("store export -q vectors --output v.npy");
    let fitting = "hint: export it with `--format npy|parquet|faiss|faiss-idmap|pyserini`";
    let for_vectors = "is for dense vectors, and this model gives weights to the terms";
    let holds_impacts = "the store impacts holds impacts of terms, not vectors";
    let index = "hint: index a store of passages with `toller index --vectors`";
    let sparse = "encode --model sparse-models/bert --corpus corpus.jsonl --output new";
    let cases: [(i32, &str, &[&str]); 16] = [
        (
            1,
            "store export impacts --output new.npy",
            &["a store of impacts is not exported as npy", "hint: export it with `--format jsonl`"],
        ),
        (1, "store export impacts --output new --format pyserini", &["is not exported as pyserini"]),
        (1, "store export vectors --output new.jsonl", &["a store of vectors is not exported as", fitting]),
        (1, "store export vectors --output new.jsonl.gz", &["is not exported as jsonl", fitting]),
        (2, "store export impacts --output new.gz", &["does not imply a format", "hint: add --format"]),
        (
            2,
            "store export impacts --output new.jsonl.bz2 --format jsonl",
            &["its name ends in .bz2, which is a compression that is not written", "hint: "],
        ),
        (2, "store export impacts impacts --output new.jsonl", &["exported one by one", "hint: "]),
        (1, "store export vectors impacts --output new.npy", &[holds_impacts]),
        (2, "store export impacts --widen --output new.jsonl", &["--widen is for vectors", "hint: leave it"]),
        (2, "store export impacts --output - --format jsonl", &["not written to a stream", "hint: "]),
        (1, "store quantize impacts", &[holds_impacts, index]),
        (1, "store plot impacts --output new.svg", &[holds_impacts, index]),
        (1, "search --dense vectors --query-vectors impacts --output new", &[holds_impacts]),
        (2, &format!("{sparse} --codes int8"), &["--codes int8", for_vectors, "hint: leave it out"]),
        (2, &format!("{sparse} --store-dtype f32"), &["--store-dtype", for_vectors, "hint: leave it out"]),
        (
            2,
            "store import v.npy --model sparse-models/bert --output new",
            &["--model sparse-models/bert: it gives weights to terms, and makes no vectors", "hint: "],
        ),
    ];
    for (code, command, says) in cases {
        workspace.toller(command).fails(code, says);
        assert!(!workspace.has_trace_of("new"), "{command}");
    }
}
