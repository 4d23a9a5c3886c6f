//! `toller store`: vectors from other programs and back, and what is damaged.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::support::{Finished, Workspace, assert_has, copy_folder};

const ENCODE: &str = "encode --model tiny-bert --corpus corpus.jsonl --output store --rows-per-shard 10";
const SEARCH: &str = "search --k 5 --output run.txt";

/// A collection of thirty passages whose ids are numbers, two queries, and stores of both.
fn workspace_with_stores() -> Workspace {
    let workspace = Workspace::new();
    let lines = (0..30).map(|number| format!("{{\"_id\":\"{number}\",\"text\":\"the year {number}\"}}\n"));
    workspace.write("corpus.jsonl", lines.collect::<String>());
    workspace.write("q.tsv", "q1\twho\nq2\tthe year 7\n");
    workspace.runs(ENCODE);
    workspace.runs("encode --model tiny-bert --queries q.tsv --output queries");
    workspace
}

/// Adds the exchange crate's fixtures.
fn add_vectors(workspace: &Workspace) {
    let fixtures = toller_testing::repository("crates/exchange/tests/fixtures");
    copy_folder(&fixtures, &workspace.path("vectors"));
}

#[test]
fn every_format_there_and_back_finds_the_same() {
    let workspace = workspace_with_stores();
    workspace.runs(&format!("{SEARCH} --dense store --model tiny-bert --queries q.tsv"));
    let run = workspace.read("run.txt");
    for (output, flags) in [
        ("a.npy", ""),
        ("b.parquet", ""),
        ("c.faiss", ""),
        ("d.index", "--format faiss-idmap"),
        ("pyserini", "--format pyserini"),
    ] {
        let back = format!("{output}-back");
        workspace.runs(&format!("store export store --output {output} {flags}"));
        let imported =
            workspace.runs(&format!("store import {output} --output {back} --model tiny-bert --json")).json();
        assert_has(&imported, json!({"rows": 30, "model": "tiny-bert"}));
        workspace.runs(&format!("{SEARCH} --dense {back} --model tiny-bert --queries q.tsv"));
        assert!(workspace.read("run.txt") == run, "{output}");
        workspace
            .toller(&format!("store export store --output {output} {flags}"))
            .fails(1, &["is there already", "hint: give another --output, or replace it with `--overwrite`"]);
        workspace.runs(&format!("store export store --output {output} {flags} --overwrite"));
    }
    workspace
        .toller("store export store --output - --format npy")
        .fails(2, &["vectors are not written to a stream", "hint: give --output a file"]);
}

#[test]
fn an_imported_store_is_searched_on_the_users_word_alone() {
    let workspace = workspace_with_stores();
    workspace.runs("store export store --output x.npy");
    let imported = workspace.runs("store import x.npy --output imported");
    imported.says(["the model of the store is unknown"]);
    let search = format!("{SEARCH} --dense imported --model tiny-bert --queries q.tsv");
    workspace
        .toller(&search)
        .fails(1, &["imported and does not know its model", "is tiny-bert", "hint:", "`--assume-model`"]);
    workspace.runs("store export queries --output y.npy");
    workspace.runs("store import y.npy --output again");
    workspace
        .toller(&format!("{SEARCH} --dense imported again --query-vectors queries"))
        .fails(1, &["hint: nobody knows whether one model made both: import all files together"]);
    workspace.runs(&format!("{search} --assume-model"));
    let run = workspace.read("run.txt");
    workspace.runs(&format!("{SEARCH} --dense imported --query-vectors queries")).says(["is not checked"]);
    assert!(workspace.read("run.txt") == run);
    // A word for one model is not a word for another.
    copy_folder(&workspace.path("tiny-bert"), &workspace.path("other"));
    workspace.flip_byte("other/model.safetensors", 100);
    workspace
        .toller(&format!("{SEARCH} --dense store --model other --queries q.tsv --assume-model"))
        .fails(1, &["encoded with another model"]);
    // The time of a search does not depend on what made the vectors.
    workspace.runs("bench search --dense imported --query-vectors queries --queries 1 --k 3 --seconds 0");
    let info = workspace.runs("store info imported --json").json();
    assert_eq!(info["stores"][0]["model"], serde_json::Value::Null);
}

#[test]
fn a_model_that_cannot_have_made_the_vectors_is_refused() {
    let workspace = Workspace::new();
    add_vectors(&workspace);
    workspace
        .toller("store import vectors/f4.npy --output imported --model tiny-bert")
        .fails(2, &["--model tiny-bert: its vectors have 32 numbers, but these have 5", "hint:"]);
    // Without a model, nothing of it can be set.
    for flag in
        ["--dim 5", "--pooling cls", "--prompt x", "--max-length 9", "--dtype f16", "--batch-tokens 9"]
    {
        let name = flag.split(' ').next().unwrap_or_default();
        workspace
            .toller(&format!("store import vectors/f4.npy --output imported {flag}"))
            .fails(2, &[name, "none is named", "hint: give --model"]);
    }
    assert!(!workspace.path("imported").exists());
}

#[test]
fn files_of_other_programs_are_imported_with_their_ids() {
    let workspace = Workspace::new();
    add_vectors(&workspace);
    for (files, flags, dtype) in [
        ("f4.npy", "", "f32"),
        ("f2.npy", "--row-ids", "f16"),
        ("f8.npy", "--row-ids --narrow-f64", "f32"),
        ("pyserini", "", "f32"),
        ("flat-ip.faiss", "--ids vectors/f4.ids.txt", "f32"),
        ("flat-l2.faiss", "--ids vectors/f4.ids.txt --any-metric", "f32"),
        ("id-map.faiss", "--store-dtype bf16", "bf16"),
        ("list-f4.parquet", "", "f32"),
        ("large.parquet", "--id-column name --vector-column v", "f32"),
        ("tevatron-4.pkl", "", "f32"),
        ("dpr.pkl", "--role query", "f32"),
    ] {
        let import = format!("store import vectors/{files} {flags} --output imported --overwrite --json");
        let imported = workspace.runs(&import).json();
        assert_eq!((&imported["rows"], &imported["dim"]), (&7.into(), &5.into()), "{files}");
        assert_eq!(imported["dtype"], dtype, "{files}");
        workspace.runs("store verify imported");
    }
    let both = "store import vectors/tevatron-4.pkl vectors/id-map.faiss --output both --json";
    assert_eq!(workspace.runs(both).json()["rows"], 14);
    workspace.runs(both).says(["both is complete; nothing to do"]);
}

#[test]
fn what_cannot_be_imported_says_why_and_leaves_nothing() {
    let workspace = Workspace::new();
    add_vectors(&workspace);
    workspace.write("seven.txt", "a\nb\nc\nd\nb\nf\ng\n");
    workspace.write("six.json", "[1,2,3,4,5,6]");
    workspace.write("noise.npy", "noise");
    let cases: [(&str, i32, &[&str]); 12] = [
        ("vectors/f2.npy", 1, &["f2.npy holds vectors without identifiers", "hint:", "`--ids FILE`"]),
        ("vectors/f2.npy --ids seven.txt", 1, &["\"b\" occurs twice", "row 2", "row 5"]),
        ("vectors/f2.npy --ids six.json", 1, &["six.json has 6 identifiers", "7 vectors"]),
        ("- --row-ids", 1, &["-: it can be read only once", "hint: save it as a file first"]),
        ("vectors/f2.npy --ids -", 1, &["-: it can be read only once", "hint: save it as a file first"]),
        ("vectors/f8.npy --row-ids", 1, &["float64", "hint: add `--narrow-f64`"]),
        ("vectors/fortran.npy --row-ids", 1, &["Fortran order", "hint:", "ascontiguousarray"]),
        ("vectors/flat-l2.faiss --row-ids", 1, &["L2", "hint: add `--any-metric`"]),
        ("vectors/ivf.faiss --row-ids", 1, &["kind IwFl, not a flat one", "hint:"]),
        ("vectors/large.parquet", 1, &["no column _id or id or docid", "hint:", "--id-column"]),
        ("noise.npy --row-ids", 1, &["cannot tell the format of noise.npy", "hint:"]),
        ("vectors/f4.npy vectors/f4.npy", 1, &["\"d0\" occurs twice", "hint: give each file once"]),
    ];
    for (arguments, code, says) in cases {
        workspace.toller(&format!("store import {arguments} --output imported")).fails(code, says);
        assert!(!workspace.path("imported").exists(), "{arguments}");
    }
}

#[test]
fn a_damaged_shard_is_named_and_only_it_is_written_again() {
    let workspace = workspace_with_stores();
    let whole = workspace.files_in("store");
    workspace.runs("store verify store");
    workspace.flip_byte("store/shard-00001.safetensors", 40);
    fs::remove_file(workspace.path("store/shard-00002.safetensors")).unwrap();

    let verified = workspace.toller("store verify store");
    assert_eq!(verified.code, Some(1));
    assert_eq!(verified.stdout.lines().count(), 2);
    verified.prints(["shard-00001.safetensors cannot be used: its checksum is xxh3-128:"]);
    verified.prints(["shard-00002.safetensors cannot be used: it is missing: rows 21 to 30"]);
    verified.says(["2 of 3 shards are damaged or missing, with 20 of 30 rows"]);
    verified.says(["hint:"]);
    let json = workspace.toller("store verify store --json").json();
    assert_eq!(
        (&json["damaged"][0]["first_row"], &json["damaged"][1]["file"]),
        (&10.into(), &"store/shard-00002.safetensors".into())
    );

    let encoded = workspace.runs(&format!("{ENCODE} --json"));
    assert_eq!(encoded.json()["encoded_rows"], 20);
    encoded
        .says(["warning: the shard store/shard-00001.safetensors cannot be used", "encoding 10 rows again"]);
    assert!(workspace.files_in("store") == whole);
    workspace.runs("store verify store");
}

#[test]
fn info_describes_stores_finished_or_not() {
    let workspace = workspace_with_stores();
    let text = workspace.runs("store info store queries").stdout;
    for says in [
        "tiny-bert (fingerprint ", "vectors      30\n", "dimension    32\n", "role         query",
        "3 of up to 10 rows",
    ] {
        assert!(text.contains(says), "{says:?} is not in:\n{text}");
    }
    for part in [1, 2] {
        let encode = "encode --model tiny-bert --corpus corpus.jsonl --output parts";
        workspace.runs(&format!("{encode} --shard {part}/2"));
    }
    let json = workspace.runs("store info parts --json").json();
    assert_has(&json["stores"][0], json!({"parts": 2, "rows": 30, "complete": true}));
    workspace.toller("store info q.tsv").fails(1, &["q.tsv is not a store", "hint:"]);
}

#[test]
fn faiss_numpy_and_pyarrow_read_what_is_exported_and_find_the_same() {
    let Some(python) = toller_testing::peers("faiss, numpy, pyarrow.parquet") else { return };
    let workspace = workspace_with_stores();
    for output in [
        "x.npy", "x.parquet", "x.faiss --overwrite", "m.index --format faiss-idmap",
        "pyserini --format pyserini",
    ] {
        workspace.runs(&format!("store export store --output {output}"));
    }
    workspace.runs("store export queries --output q.npy");
    workspace.runs(&format!("{SEARCH} --dense store --query-vectors queries"));
    let script = toller_testing::repository("tests/peers/exchange.py");
    let checked =
        Command::new(python).arg(script).arg("run.txt").current_dir(workspace.path(".")).output().unwrap();
    assert_eq!(Finished::new(checked).succeeds().stdout, "same\n");
}

#[test]
fn a_picture_has_a_point_for_each_vector() {
    let workspace = workspace_with_stores();
    let plot = "store plot --perplexity 3 --output picture.svg";
    let json = workspace.runs(&format!("{plot} store queries --json")).json();
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 32);
    assert_has(&points[31], json!({"set": "queries"}));
    let picture = workspace.read("picture.svg");
    // A point for each vector, and the keys of the legend.
    assert_eq!(String::from_utf8(picture.clone()).unwrap().matches("<circle").count(), 32 + 2);
    workspace.runs(&format!("{plot} store queries --threads 1")).says(["drew 32 vectors in picture.svg"]);
    assert!(workspace.read("picture.svg") == picture);
    let sampled = workspace.runs(&format!("{plot} store --sample 12 --seed 7 --json")).json();
    assert_eq!(sampled["points"].as_array().unwrap().len(), 12);

    let groups: String = (0..20).map(|id| format!("{id}\t{}\n", ["odd", "even"][id % 2])).collect();
    workspace.write("groups.tsv", groups);
    let grouped = workspace.runs(&format!("{plot} store --groups groups.tsv --json")).json();
    let points = grouped["points"].as_array().unwrap();
    assert_eq!(points.len(), 20);
    for point in points {
        let id: usize = point["id"].as_str().unwrap().parse().unwrap();
        assert_eq!(point["set"], ["odd", "even"][id % 2]);
    }

    let picture = workspace.read("picture.svg");
    workspace
        .toller(&format!("{plot} store --sample 9"))
        .fails(1, &["perplexity of 3 cannot place 9 vectors", "hint:"]);
    workspace.write("groups.tsv", "x\todd\n");
    workspace.toller(&format!("{plot} store --groups groups.tsv")).fails(1, &["none of these documents"]);
    assert!(workspace.read("picture.svg") == picture);
    workspace.toller("store plot store --output q.tsv").fails(2, &["q.tsv is there already"]);
}
