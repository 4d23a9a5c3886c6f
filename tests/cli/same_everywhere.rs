//! Threads, batches, shards, parts and the form of the input leave no trace in a store or a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toller_store::{OpenOptions, Store};

use crate::support::{Workspace, gzip};

const MODEL: &str = "--model tiny-bert";

/// Encodes data/corpus.jsonl into `store` with further flags.
fn encode(workspace: &Workspace, store: &str, flags: &str) {
    workspace.runs(&format!("encode {MODEL} --corpus data/corpus.jsonl --output {store} {flags}"));
}

/// The run of all questions.
fn search(workspace: &Workspace, stores: &str, flags: &str) -> String {
    let arguments =
        format!("search --dense {stores} {MODEL} --queries data/queries.jsonl --output - {flags}");
    workspace.runs(&arguments).stdout
}

#[test]
fn threads_and_batches_leave_no_trace_in_a_store() {
    let workspace = Workspace::with_xquad();
    encode(&workspace, "one", "--rows-per-shard 500 --threads 1");
    let expected = workspace.files_in("one");
    assert_eq!(expected.len(), 4, "three shards and a manifest");
    for (store, flags) in [
        ("two-threads", "--threads 2"),
        ("five-threads", "--threads 5"),
        ("small-batches", "--threads 2 --batch-tokens 64"),
        ("large-batches", "--threads 1 --batch-tokens 4096"),
    ] {
        encode(&workspace, store, &format!("--rows-per-shard 500 {flags}"));
        assert!(workspace.files_in(store) == expected, "{flags} changes the store");
    }
}

#[test]
fn the_form_of_the_input_leaves_no_trace_in_a_store() {
    let workspace = Workspace::with_xquad();
    encode(&workspace, "plain", "");
    let expected = workspace.files_in("plain");
    let corpus = workspace.read("data/corpus.jsonl");

    workspace.write("corpus.jsonl.gz", gzip(&corpus));
    workspace.runs(&format!("encode {MODEL} --corpus corpus.jsonl.gz --output compressed"));
    assert!(workspace.files_in("compressed") == expected, "gzip");

    workspace.toller_reading(&corpus, &format!("encode {MODEL} --corpus - --output piped")).succeeds();
    assert!(workspace.files_in("piped") == expected, "standard input");
    assert!(workspace.files_in("piped").iter().all(|(name, _)| !name.contains("stdin")));

    let middle = corpus.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(700).unwrap().0 + 1;
    workspace.write("a.jsonl", &corpus[..middle]);
    workspace.write("b.jsonl", &corpus[middle..]);
    workspace.runs(&format!("encode {MODEL} --corpus a.jsonl b.jsonl --output two-files"));
    assert!(workspace.files_in("two-files") == expected, "two files");
}

#[test]
fn threads_and_k_leave_no_trace_in_a_run() {
    let workspace = Workspace::with_xquad();
    encode(&workspace, "store", "");
    let run = search(&workspace, "store", "--k 1000 --threads 1");
    assert_eq!(run.lines().count(), 1190 * 1000);
    assert!(search(&workspace, "store", "--k 1000 --threads 2") == run, "two threads");
    assert!(search(&workspace, "store", "--k 1000 --batch-tokens 64") == run, "small batches");

    let best: Vec<&str> =
        run.lines().enumerate().filter(|(line, _)| line % 1000 < 10).map(|(_, line)| line).collect();
    let ten = search(&workspace, "store", "--k 10");
    assert!(ten.lines().eq(best), "the ten best of a thousand are the ten best");
}

#[test]
fn one_store_eight_parts_and_eight_stores_are_one_collection() {
    let workspace = Workspace::with_xquad();
    encode(&workspace, "store", "");
    let run = search(&workspace, "store", "--k 100");

    encode(&workspace, "shards", "--rows-per-shard 97");
    assert!(search(&workspace, "shards", "--k 100") == run, "shards of 97 rows");

    // Not in order, as machines finish.
    for part in [3, 1, 8, 2, 7, 5, 4, 6] {
        encode(&workspace, "parts", &format!("--shard {part}/8"));
    }
    assert!(search(&workspace, "parts", "--k 100") == run, "eight parts");
    let parts: Vec<String> = (1..=8).map(|part| format!("parts/part-{part:05}-of-00008")).collect();
    assert!(search(&workspace, &parts.join(" "), "--k 100") == run, "eight parts, named one by one");
    let alone = search(&workspace, &parts[7], "--k 1");
    assert_eq!(alone.lines().count(), 1190);
    assert!(alone.lines().all(|line| document_number(line) >= 1180 * 7 / 8), "a part holds its own rows");

    let lines = workspace.lines("data/corpus.jsonl");
    for (number, lines) in lines.chunks(lines.len().div_ceil(8)).enumerate() {
        workspace.write("piece.jsonl", lines.join("\n"));
        workspace.runs(&format!("encode {MODEL} --corpus piece.jsonl --output store-{number}"));
    }
    let stores: Vec<String> = (0..8).map(|number| format!("store-{number}")).collect();
    assert!(search(&workspace, &stores.join(" "), "--k 100") == run, "eight stores");
}

#[test]
fn encoded_queries_and_other_forms_of_the_model_give_the_same_run() {
    let workspace = Workspace::with_xquad();
    encode(&workspace, "store", "");
    let run = search(&workspace, "store", "--k 100");

    workspace
        .runs(&format!("encode {MODEL} --queries data/queries.jsonl --output queries --rows-per-shard 333"));
    let stored = workspace.runs("search --dense store --query-vectors queries --k 100 --output -");
    assert!(stored.stdout == run, "encoded queries");

    for form in ["tiny-bert-pickle", "tiny-bert-shards"] {
        workspace.add_fixture(form);
        let arguments =
            format!("search --dense store --model {form} --queries data/queries.jsonl --k 100 --output -");
        assert!(workspace.runs(&arguments).stdout == run, "{form}");
    }
}

/// Every dtype's run, score by score, against an exhaustive search over the stored vectors in float64.
#[test]
fn a_run_is_the_exact_top_of_the_stored_vectors() {
    let workspace = Workspace::with_xquad();
    workspace.head("data/queries.jsonl", 50, "queries.jsonl");
    workspace.runs(&format!("encode {MODEL} --queries queries.jsonl --output queries"));
    let queries = read_store(workspace.path("queries"));
    let mut runs = BTreeMap::new();
    for dtype in ["f32", "f16", "bf16"] {
        encode(&workspace, dtype, &format!("--store-dtype {dtype} --rows-per-shard 200"));
        let arguments = format!("search --dense {dtype} --query-vectors queries --k 20 --output -");
        let run = workspace.runs(&arguments).stdout;
        assert_eq!(parse_run(&run), exhaustive(&queries, &read_store(workspace.path(dtype)), 20), "{dtype}");
        runs.insert(run, dtype);
    }
    assert_eq!(runs.len(), 3, "rounding to another dtype shows in the scores");
}

/// Ids and vectors.
type Rows = Vec<(String, Vec<f32>)>;

/// Query, document, rank, bits of the score.
type Line = (String, String, usize, u32);

fn read_store(path: PathBuf) -> Rows {
    let store = Store::open(&[path], &OpenOptions::default()).unwrap();
    let mut rows = Vec::new();
    for shard in store.shards() {
        let mut values = vec![0.0; shard.rows() * store.dim()];
        shard.embeddings().widen(0..values.len(), &mut values);
        let vectors = values.chunks_exact(store.dim()).enumerate();
        rows.extend(vectors.map(|(row, vector)| (shard.id(row).to_owned(), vector.to_vec())));
    }
    rows
}

fn exhaustive(queries: &Rows, passages: &Rows, k: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (query, vector) in queries {
        let score = |passage: &[f32]| -> f32 {
            let products = vector.iter().zip(passage).map(|(&a, &b)| f64::from(a) * f64::from(b));
            products.sum::<f64>() as f32
        };
        let mut hits: Vec<(f32, &str)> =
            passages.iter().map(|(id, passage)| (score(passage), id.as_str())).collect();
        // Stable: what scores the same stays in the order of the collection.
        hits.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let best = hits.iter().take(k).zip(1..);
        lines
            .extend(best.map(|((score, id), rank)| (query.clone(), (*id).to_owned(), rank, score.to_bits())));
    }
    lines
}

fn parse_run(run: &str) -> Vec<Line> {
    run.lines()
        .map(|line| {
            let columns: Vec<&str> = line.split(' ').collect();
            let [query, "Q0", document, rank, score, "toller"] = columns[..] else {
                panic!("not a line of a run: {line:?}")
            };
            let score: f32 = score.parse().unwrap();
            (query.to_owned(), document.to_owned(), rank.parse().unwrap(), score.to_bits())
        })
        .collect()
}

/// The number in the document's id, which XQuAD-R's builder writes as s0, s1, ...
fn document_number(line: &str) -> usize {
    line.split(' ').nth(2).and_then(|id| id.strip_prefix('s')?.parse().ok()).unwrap()
}
