//! Models and stores that are not what they should be: refused with the file's name and a hint.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Workspace, copy_folder};

const ENCODE: &str = "encode --corpus corpus.jsonl --output store --rows-per-shard 10";
const SEARCH: &str = "search --model tiny-bert --queries q.tsv --output run.txt --dense";

/// A collection of thirty passages, a query, and, if asked for, the store.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let lines = (0..30).map(|number| format!("{{\"_id\":\"d{number}\",\"text\":\"the year {number}\"}}\n"));
    workspace.write("corpus.jsonl", lines.collect::<String>());
    workspace.write("q.tsv", "q1\twho\n");
    workspace
}

fn workspace_with_store() -> Workspace {
    let workspace = workspace();
    workspace.runs(&format!("{ENCODE} --model tiny-bert"));
    workspace
}

#[test]
fn what_is_not_a_model() {
    let workspace = workspace();
    fs::create_dir(workspace.path("empty")).unwrap();
    let cases: [(&str, &[&str]); 4] = [
        (
            "nosuch",
            &[
                "no model `nosuch`", "directory nosuch: does not exist", "models/: no such name",
                "hint: give a directory",
            ],
        ),
        (
            "org/nosuch",
            &["no model `org/nosuch`", "the network is not allowed", "hint: unset HF_HUB_OFFLINE"],
        ),
        (
            "empty",
            &[
                "the model directory empty has no config.json, tokenizer.json",
                "hint: a model directory holds",
            ],
        ),
        ("corpus.jsonl", &["the model corpus.jsonl is a file", "hint: give its directory"]),
    ];
    for (model, says) in cases {
        workspace.toller(&format!("{ENCODE} --model {model}")).fails(1, says);
        assert!(!workspace.path("store").exists(), "{model}");
    }
}

#[test]
fn a_model_with_a_missing_or_broken_file_names_it() {
    for (file, says) in [
        ("config.json", "config.json"),
        ("tokenizer.json", "tokenizer.json"),
        ("model.safetensors", "model.safetensors"),
        ("1_Pooling/config.json", "1_Pooling/config.json"),
    ] {
        let workspace = workspace();
        let whole = workspace.read(&format!("tiny-bert/{file}"));
        workspace.write(&format!("tiny-bert/{file}"), &whole[..whole.len() / 2]);
        workspace.toller(&format!("{ENCODE} --model tiny-bert")).fails(1, &["error: ", says]);
        fs::remove_file(workspace.path(&format!("tiny-bert/{file}"))).unwrap();
        workspace.toller(&format!("{ENCODE} --model tiny-bert")).fails(1, &["error: ", says, "hint: "]);
        assert!(!workspace.path("store").exists(), "{file}");
    }
}

/// The library would panic at the first text.
#[test]
fn a_template_with_a_token_that_is_not_described_is_an_error() {
    let workspace = workspace();
    let mut tokenizer: Value = serde_json::from_slice(&workspace.read("tiny-bert/tokenizer.json")).unwrap();
    tokenizer["post_processor"] = json!({
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {},
    });
    workspace.write("tiny-bert/tokenizer.json", tokenizer.to_string());
    workspace.toller(&format!("{ENCODE} --model tiny-bert")).fails(1, &["tokenizer.json", "[CLS]", "hint: "]);
}

#[test]
fn a_store_of_another_model_is_refused() {
    let workspace = workspace_with_store();
    copy_folder(&workspace.path("tiny-bert"), &workspace.path("other"));
    workspace.flip_byte("other/model.safetensors", 100);
    let search = "search --dense store --model other --queries q.tsv --output run.txt";
    workspace.toller(search).fails(
        1,
        &[
            "the store was encoded with another model: with tiny-bert",
            "not with other",
            "hint: search with `--model tiny-bert`",
        ],
    );
    assert!(!workspace.path("run.txt").exists());
    workspace.toller(&format!("{ENCODE} --model other")).fails(
        1,
        &[
            "the store store was begun differently: model.fingerprint is",
            "hint: give another --output, or replace",
        ],
    );
    // Encoded queries know their model too.
    workspace.runs("encode --model other --queries q.tsv --output queries");
    workspace
        .toller("search --dense store --query-vectors queries --output run.txt")
        .fails(1, &["the store was encoded with another model"]);
}

#[test]
fn what_is_not_a_whole_store_is_refused() {
    let workspace = workspace_with_store();
    fs::create_dir(workspace.path("empty")).unwrap();
    workspace
        .toller(&format!("{SEARCH} empty"))
        .fails(1, &["empty is not a store", "hint: give the directory"]);
    workspace.toller(&format!("{SEARCH} nosuch")).fails(1, &["cannot open nosuch", "hint: check the path"]);
    workspace.toller(&format!("{SEARCH} q.tsv")).fails(1, &["q.tsv is not a store", "hint:"]);
    workspace
        .toller(&format!("{SEARCH} store store"))
        .fails(1, &["occurs twice", "hint: give each store once"]);

    for part in [1, 3] {
        workspace
            .runs(&format!("encode --corpus corpus.jsonl --output parts --model tiny-bert --shard {part}/3"));
    }
    workspace.toller(&format!("{SEARCH} parts")).fails(
        1,
        &["the store parts has 2 of 3 parts; missing: part-00002-of-00003", "hint:", "`--shard 2/3`"],
    );
}

#[test]
fn a_damaged_store_is_refused_and_can_be_replaced() {
    let workspace = workspace_with_store();
    let whole = workspace.files_in("store");
    let shard = "store/shard-00001.safetensors";
    let bytes = workspace.read(shard);

    workspace.flip_byte(shard, bytes.len() / 2);
    workspace.toller(&format!("{SEARCH} store")).fails(
        1,
        &[
            "the shard store/shard-00001.safetensors cannot be used: its checksum is",
            "hint: restore the file from a copy",
        ],
    );
    workspace.write(shard, &bytes[..bytes.len() - 1]);
    workspace
        .toller(&format!("{SEARCH} store"))
        .fails(1, &["shard-00001.safetensors cannot be used: it has", "hint: restore"]);
    // Lengths are checked even when checksums are trusted.
    workspace
        .toller(&format!("{SEARCH} store --no-verify"))
        .fails(1, &["shard-00001.safetensors cannot be used: it has"]);
    fs::remove_file(workspace.path(shard)).unwrap();
    workspace
        .toller(&format!("{SEARCH} store"))
        .fails(1, &["shard-00001.safetensors cannot be used: it is missing", "hint: restore"]);
    workspace.flip_byte("store/manifest.json", 40);
    workspace.toller(&format!("{SEARCH} store")).fails(1, &["store/manifest.json", "hint:"]);
    assert!(!workspace.path("run.txt").exists());

    workspace.runs(&format!("{ENCODE} --model tiny-bert --overwrite"));
    assert!(workspace.files_in("store") == whole);
    // Nothing of the old store is left in the new one.
    let encode = "encode --corpus corpus.jsonl --model tiny-bert --rows-per-shard 20 --overwrite --output";
    workspace.runs(&format!("{encode} store"));
    workspace.runs(&format!("{encode} new"));
    assert!(workspace.files_in("store") == workspace.files_in("new"));
}

#[test]
fn a_store_of_parts_is_no_foreign_directory() {
    let workspace = workspace();
    workspace.runs(&format!("{ENCODE} --model tiny-bert --shard 1/2"));
    workspace.toller(&format!("{ENCODE} --model tiny-bert")).fails(
        1,
        &["it holds part-00001-of-00002", "hint: it is a store of parts: go on with `--shard I/N`"],
    );
}

#[test]
fn a_directory_that_holds_something_else_is_left_alone() {
    let workspace = workspace();
    fs::create_dir(workspace.path("store")).unwrap();
    workspace.write("store/thesis.tex", "years of work");
    for overwrite in ["", "--overwrite"] {
        workspace.toller(&format!("{ENCODE} --model tiny-bert {overwrite}")).fails(
            1,
            &[
                "store is not empty and not a store of this kind: it holds thesis.tex",
                "hint: give another --output",
            ],
        );
        assert_eq!(workspace.files_in("store"), [("thesis.tex".to_owned(), b"years of work".to_vec())]);
    }
}

#[test]
fn a_changed_collection_or_flag_does_not_resume() {
    let workspace = workspace_with_store();
    const BARE: &str = "encode --corpus corpus.jsonl --output store";
    for encode in [ENCODE, BARE] {
        workspace.runs(&format!("{encode} --model tiny-bert")).says(["store is complete; nothing to do"]);
    }
    for (flags, field) in [
        ("--max-length 50", "encoding.max_length is 96 in the store, 50 asked for"),
        ("--prompt passage:", "encoding.prompt is"),
        ("--store-dtype f16", "dtype is f32 in the store, f16 asked for"),
        ("--pooling cls", "pooling"),
        ("--rows-per-shard 20", "rows per shard is 10 in the store, 20 asked for"),
    ] {
        workspace
            .toller(&format!("{BARE} --model tiny-bert {flags}"))
            .fails(1, &["begun differently", field, "hint:"]);
    }
    let mut corpus = workspace.lines("corpus.jsonl");
    corpus.swap(0, 1);
    workspace.write("corpus.jsonl", corpus.join("\n"));
    workspace
        .toller(&format!("{ENCODE} --model tiny-bert"))
        .fails(1, &["begun differently: the texts are not the same\n", "hint:"]);
}

#[test]
fn a_pooling_that_pools_nothing_or_other_vectors_is_refused() {
    let workspace = workspace();
    let off = r#"{"word_embedding_dimension": 32, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": false}"#;
    for (config, says) in [
        (off, "a pooling without a mode is not supported"),
        (r#"{"pooling_mode": []}"#, "a pooling without a mode is not supported"),
        (r#"{"pooling_mode_attention": true}"#, "a pooling without a mode is not supported"),
        (
            r#"{"word_embedding_dimension": 999, "pooling_mode_mean_tokens": true}"#,
            "pools vectors of 999 dimensions, but the model's have 32",
        ),
    ] {
        workspace.write("tiny-bert/1_Pooling/config.json", config);
        workspace
            .toller(&format!("{ENCODE} --model tiny-bert"))
            .fails(1, &["tiny-bert/1_Pooling/config.json", says, "hint: "]);
        assert!(!workspace.path("store/manifest.json").exists());
    }
}
