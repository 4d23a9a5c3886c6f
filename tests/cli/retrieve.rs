//! Retrieving: the run is the same as after searching and then reranking, whatever the first stage, and one
//! report covers both.

use serde_json::json;

use crate::support::{Workspace, assert_has};

/// XQuAD-R's first 300 sentences, dense and sparse; questions of more than one block, the first without any
/// term of the index.
fn workspace() -> Workspace {
    let workspace = Workspace::with_xquad();
    workspace.add_fixture("cross-encoders/mpnet");
    workspace.add_fixture("cross-encoders/roberta");
    workspace.head("data/corpus.jsonl", 300, "corpus.jsonl");
    workspace.head("data/queries.jsonl", 40, "q.jsonl");
    let mut queries = workspace.lines("q.jsonl");
    queries.insert(0, r#"{"_id":"none","text":"zzyzx"}"#.to_owned());
    workspace.write("q.jsonl", queries.join("\n") + "\n");
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output store");
    workspace.runs("encode -q --model tiny-bert --queries q.jsonl --output vectors");
    workspace.runs("index -q --language en --corpus corpus.jsonl --output index");
    workspace
}

const CROSS_ENCODER: &str = "cross-encoders/mpnet";

/// The flags that `rerank` and `retrieve` both get.
const RERANKING: &str = "--corpus corpus.jsonl --truncation longest_first";

const SPARSE: &str = "retrieve --sparse index --queries q.jsonl --rerank cross-encoders/mpnet --depth 3 \
                      --corpus corpus.jsonl --truncation longest_first";

/// Searches by `first` for `searched` hits, reranks, retrieves by the flags of both, and compares.
fn compare(workspace: &Workspace, first: &str, searched: u32, models: &str, flags: &str) {
    let what = format!("{first} {models} {flags}");
    // A search for only vectors needs no texts.
    let texts = !first.contains("--query-vectors") || first.contains("--sparse");
    let queries = if texts { "--queries q.jsonl" } else { "" };
    let fused = first.contains("--fusion");
    let depth = if fused { "--fusion-depth 50" } else { "" };
    let found =
        workspace.runs(&format!("search -q {first} {queries} {depth} --k {searched} --output first.run"));
    workspace.runs(&format!(
        "rerank -q --run first.run --queries q.jsonl --model {models} {RERANKING} {flags} --output two.run"
    ));
    let done = workspace.runs(&format!(
        "retrieve -q {first} {depth} --queries q.jsonl --rerank {models} {RERANKING} {flags} \
             --keep-stages stages --output one.run"
    ));
    // Nothing, or that a query has no hits.
    assert_eq!(done.stderr, found.stderr, "{what}");
    assert_eq!(workspace.lines("one.run"), workspace.lines("two.run"), "{what}");
    assert_eq!(workspace.read("one.run"), workspace.read("two.run"), "{what}");
    assert_eq!(workspace.read("stages/first-stage.run"), workspace.read("first.run"), "{what}");
    if fused {
        let options: Vec<&str> = first.split(" --").map(|option| option.trim_start_matches("--")).collect();
        let of = |wanted: &[&str]| -> String {
            let is_wanted = |option: &&&str| wanted.iter().any(|name| option.split(' ').next() == Some(name));
            options.iter().filter(is_wanted).map(|option| format!("--{option} ")).collect()
        };
        let with_vectors = first.contains("--query-vectors");
        let sparse = of(&["sparse"]) + "--queries q.jsonl";
        let dense =
            of(&["dense", "model", "query-vectors"]) + if with_vectors { "" } else { "--queries q.jsonl" };
        for (alone, kept) in [(sparse, "sparse.run"), (dense, "dense.run")] {
            workspace.runs(&format!("search -q {alone} --k 50 --output alone.run"));
            assert_eq!(
                workspace.read(&format!("stages/{kept}")),
                workspace.read("alone.run"),
                "{what} {kept}"
            );
        }
    }
    assert_ne!(workspace.read("one.run"), workspace.read("first.run"), "{what}: nothing was reranked");
    assert!(!workspace.path("one.run.scores").exists(), "the scores of a run that is there are not kept");
}

#[test]
fn the_run_is_that_of_searching_and_reranking() {
    let workspace = workspace();
    for first in [
        "--dense store --model tiny-bert",
        "--dense store --query-vectors vectors",
        "--sparse index",
        "--sparse index --dense store --model tiny-bert --fusion interpolate --alpha 0.37",
        "--sparse index --dense store --query-vectors vectors --fusion rrf",
    ] {
        compare(&workspace, first, 20, CROSS_ENCODER, "--k 20 --depth 5");
    }
}

#[test]
fn flags_of_reranking_count() {
    let workspace = workspace();
    let both = format!("{CROSS_ENCODER} cross-encoders/roberta");
    for (searched, models, flags) in [
        // No fewer hits are searched for than are reranked.
        (6, CROSS_ENCODER, "--k 2 --depth 6"),
        (20, CROSS_ENCODER, "--k 20 --depth 4 --cut --threads 1"),
        (20, CROSS_ENCODER, "--k 20 --depth 4 --interpolate 0.3"),
        (20, CROSS_ENCODER, "--k 20 --depth 3 --passage-window 10 --aggregate mean"),
        (20, both.as_str(), "--k 20 --depth 4 --combine rrf"),
    ] {
        compare(&workspace, "--sparse index", searched, models, flags);
    }
}

#[test]
fn one_report_covers_both_stages() {
    let workspace = workspace();
    let first = workspace.runs(&format!("{SPARSE} --k 5 --cache cache --json --output one.run"));
    let report = first.json();
    let hits = workspace.lines("one.run").len();
    assert_has(&report, json!({"queries": 41, "k": 5}));
    assert_eq!(report["search"]["hits"], hits);
    assert_eq!(report["rerank"]["known_pairs"], 0);
    let pairs = report["rerank"]["pairs"].as_u64().unwrap();
    assert!(pairs > 100 && pairs <= 3 * 40, "{pairs}");
    for (stage, rate) in [("search", "queries_per_second"), ("rerank", "pairs_per_second")] {
        assert!(report[stage]["seconds"].as_f64().unwrap() > 0.0, "{stage}");
        assert!(report[stage][rate].as_f64().unwrap() > 0.0, "{stage}");
    }
    let again = workspace.runs(&format!("{SPARSE} --k 5 --cache cache --json --output two.run"));
    let report = again.json();
    assert_has(&report["rerank"], json!({"known_pairs": pairs, "tokens": 0}));
    assert_eq!(workspace.read("one.run"), workspace.read("two.run"));
    let printed = workspace.runs(&format!("{SPARSE} --k 5 --output three.run")).stderr;
    for what in ["searched 300 documents for 41 queries", "reranked to depth 3", "pairs/s"] {
        assert!(printed.contains(what), "{printed}");
    }
}

#[test]
fn what_cannot_be_retrieved_is_refused() {
    let workspace = workspace();
    workspace.head("corpus.jsonl", 20, "fewer.jsonl");
    workspace.write("other.tsv", "unknown\twho\n");
    let stages = "--rerank cross-encoders/mpnet --corpus corpus.jsonl --truncation longest_first";
    let dense = "retrieve --dense store --query-vectors vectors";
    for (code, command, says) in [
        (
            2,
            "retrieve --sparse index --queries q.jsonl --corpus corpus.jsonl --output x".to_owned(),
            "--rerank",
        ),
        (2, SPARSE.replace("--corpus corpus.jsonl", "") + " --output x", "--corpus"),
        (2, format!("retrieve --sparse index {stages} --output x"), "give --queries"),
        (2, format!("{dense} {stages} --output x"), "give --queries"),
        (
            2,
            format!("retrieve --queries q.jsonl {stages} --output x"),
            "give --dense STORE, --sparse DIR, or both",
        ),
        (2, format!("{SPARSE} --dense store --model tiny-bert --output x"), "--fusion interpolate"),
        (2, format!("{SPARSE} --fusion-depth 5 --output x"), "--fusion"),
        (2, format!("{SPARSE} --passage-window 12 --stride 13 --output x"), "would leave out tokens"),
        (
            2,
            SPARSE.replace("q.jsonl", "-").replace("corpus.jsonl", "-") + " --output x",
            "stdin is named twice",
        ),
        (2, format!("{SPARSE} --output index/x"), "would overwrite the input index"),
        (2, format!("{SPARSE} --keep-stages x --output x/first-stage.run"), "--keep-stages would write to"),
        (2, format!("{SPARSE} --json --output -"), "would both write to stdout"),
        (2, format!("{SPARSE} --depth 0 --output x"), "--depth"),
        (
            1,
            SPARSE.replace("cross-encoders/mpnet", "nothing/here/at-all") + " --output x",
            "nothing/here/at-all",
        ),
        (
            1,
            SPARSE.replace("corpus.jsonl", "fewer.jsonl") + " --output x",
            "documents to rerank, for example",
        ),
        // An error of the stage that runs ahead.
        (
            1,
            format!("{dense} --queries other.tsv {stages} --output x"),
            "there is no vector for query \"unknown\"",
        ),
        // --max-length is another stage's.
        (1, format!("{SPARSE} --rerank-max-length 2 --output x"), "hint: change --rerank-max-length"),
        (
            1,
            SPARSE.replace("longest_first", "only_second") + " --rerank-max-length 5 --output x",
            "hint: cut both texts with --truncation longest_first, or raise --rerank-max-length",
        ),
        (
            2,
            format!("retrieve --dense store --query-vectors store --queries q.jsonl {stages} --output x"),
            "--query-vectors: store is a store of role passage, and one of role query is needed",
        ),
    ] {
        workspace.toller(&command).fails(code, &[says]);
        assert!(!workspace.path("x").exists(), "{command}");
    }
}
