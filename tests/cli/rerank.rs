//! Reranking: scores are the model's, the rest follows below, missing texts are reported by identifier, and
//! known scores are not computed again.

use std::collections::{BTreeMap, HashMap};

use toller_encoder::{CrossEncoder, CrossEncoderOptions};

use serde_json::json;

use crate::support::{Workspace, assert_has, gzip};

/// A collection with titles, an empty passage, and a text of many tokens; queries; a run of five documents
/// each.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.add_fixture("cross-encoders/mpnet");
    let long = "the river rises in the hills and reaches the sea ".repeat(20);
    workspace.write(
        "corpus.jsonl",
        format!(
            r#"{{"_id":"d1","title":"Dogs","text":"a toller is a dog that retrieves"}}
{{"_id":"d2","text":"who wrote the first dictionary"}}
{{"_id":"d3","title":"","text":""}}
{{"_id":"d4","title":"Rivers","text":"{long}"}}
{{"_id":"d5","text":"nothing of the kind"}}
"#
        ),
    );
    workspace.write("queries.tsv", "q1\twhat do tollers do\nq2\twhere is the sea\n");
    let lines = ["q1", "q2"].into_iter().flat_map(|query| {
        [("d5", 9.0), ("d1", 8.0), ("d4", 8.0), ("d2", 3.5), ("d3", 1.0)]
            .into_iter()
            .zip(1..)
            .map(move |((document, score), rank)| format!("{query} Q0 {document} {rank} {score} bm25\n"))
    });
    workspace.write("first.run", lines.collect::<String>());
    workspace
}

const RERANK: &str =
    "rerank --model cross-encoders/mpnet --run first.run --corpus corpus.jsonl --queries queries.tsv";

/// Documents and scores of each query of a run, whose scores fall strictly.
fn hits(workspace: &Workspace, run: &str) -> BTreeMap<String, Vec<(String, f32)>> {
    let hits = workspace.hits(run);
    for hits in hits.values() {
        assert!(hits.windows(2).all(|two| two[0].1 > two[1].1), "scores fall strictly: {hits:?}");
    }
    hits
}

fn documents(hits: &[(String, f32)]) -> Vec<&str> {
    hits.iter().map(|(document, _)| document.as_str()).collect()
}

#[test]
fn the_best_hits_are_sorted_by_the_models_scores() {
    let workspace = workspace();
    let done = workspace.runs(&format!("{RERANK} --depth 4 --output out.run --json"));
    let report = done.json();
    assert_has(&report, json!({"pairs": 8, "queries": 2, "empty_passages": 0}));

    let folder = workspace.path("cross-encoders/mpnet");
    let model = CrossEncoder::load(&folder, &CrossEncoderOptions::default()).unwrap();
    let long = "the river rises in the hills and reaches the sea ".repeat(20);
    let texts = [
        ("d5", "nothing of the kind".to_owned()),
        ("d1", "Dogs a toller is a dog that retrieves".to_owned()),
        ("d4", format!("Rivers {long}")),
        ("d2", "who wrote the first dictionary".to_owned()),
    ];
    for (query, text) in [("q1", "what do tollers do"), ("q2", "where is the sea")] {
        let score = |(document, passage): &(&'static str, String)| {
            let pair = model.tokenize_pair(text, passage).unwrap();
            (*document, model.score(&[pair]).unwrap()[0])
        };
        let mut expected: Vec<(&str, f32)> = texts.iter().map(score).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found = &hits(&workspace, "out.run")[query];
        let reranked: Vec<(&str, f32)> =
            found[..4].iter().map(|(document, score)| (document.as_str(), *score)).collect();
        assert_eq!(reranked, expected);
        assert_eq!(found[4].0, "d3", "what is below the depth stays below");
    }
    workspace.runs(&format!("{RERANK} --depth 4 --cut --k 3 --output cut.run"));
    assert_eq!(hits(&workspace, "cut.run")["q1"], hits(&workspace, "out.run")["q1"][..3]);
}

#[test]
fn every_form_of_the_collection_gives_the_same_run() {
    let workspace = workspace();
    workspace.runs(&format!("{RERANK} --output plain.run"));
    workspace.write("corpus.jsonl.gz", gzip(&workspace.read("corpus.jsonl")));
    let zipped = RERANK.replace("corpus.jsonl", "corpus.jsonl.gz");
    workspace.runs(&format!("{zipped} --output gz.run")).says(["indexed 5 passages"]);
    workspace.runs(&format!("{zipped} --text-index elsewhere --output gz-2.run")).says(["elsewhere"]);
    let again = workspace.runs(&format!("{zipped} --output gz.run"));
    assert!(!again.stderr.contains("index"), "it is there: {}", again.stderr);
    let piped = RERANK.replace("corpus.jsonl", "-");
    workspace
        .toller_reading(&workspace.read("corpus.jsonl"), &format!("{piped} --output piped.run"))
        .succeeds();
    for run in ["gz.run", "gz-2.run", "piped.run"] {
        assert_eq!(workspace.read(run), workspace.read("plain.run"), "{run}");
    }
    // A collection that changed is indexed again.
    let changed =
        String::from_utf8(workspace.read("corpus.jsonl")).unwrap().replace("nothing of", "everything of");
    workspace.write("corpus.jsonl", changed);
    workspace.runs(&format!("{RERANK} --output plain.run")).says(["corpus.jsonl has changed"]);
}

#[test]
fn what_is_known_is_not_computed_again() {
    let workspace = workspace();
    let cached = format!("{RERANK} --cache cache --json --output");
    let first = workspace.runs(&format!("{cached} one.run --depth 3")).json();
    assert_has(&first, json!({"pairs": 6, "known_pairs": 0}));
    let second = workspace.runs(&format!("{cached} two.run --depth 3")).json();
    assert_has(&second, json!({"known_pairs": 6, "tokens": 0}));
    assert_eq!(workspace.read("one.run"), workspace.read("two.run"));
    // Another run, deeper: what is new is computed, and what another length or window makes of a pair is new.
    let deeper = workspace.runs(&format!("{cached} deep.run --depth 5")).json();
    assert_has(&deeper, json!({"pairs": 10, "known_pairs": 6, "empty_passages": 2}));
    for flags in ["--max-length 20", "--passage-window 10", "--passage-window 10 --stride 10", "--dtype bf16"]
    {
        let other = workspace.runs(&format!("{cached} other.run --depth 3 {flags}")).json();
        // An empty window of flags must not be taken for another.
        assert_eq!(other["known_pairs"], 0, "{flags}");
    }
    workspace.write("cache/notes.txt", "mine");
    workspace
        .toller(&format!("{cached} x.run"))
        .fails(1, &["cache is not empty and no score cache", "notes.txt"]);
}

/// What cannot be written is not computed.
#[test]
fn identifiers_are_checked_before_there_are_scores() {
    let workspace = workspace();
    let corpus = String::from_utf8(workspace.read("corpus.jsonl")).unwrap();
    workspace.write("corpus.jsonl", corpus.replace("d5", "d 5"));
    workspace.write("first.run", "q1\tQ0\td 5\t1\t9\tx\nq1\tQ0\td1\t2\t8\tx\n");
    workspace
        .toller(&format!("{RERANK} --cache scores --output new.run"))
        .fails(1, &["the document id \"d 5\" cannot be written", "--tab-separated"]);
    assert!(!workspace.path("scores").exists());
    workspace.runs(&format!("{RERANK} --cache scores --output new.run --tab-separated"));
    assert_eq!(workspace.lines("new.run").len(), 2);
}

#[test]
fn queries_that_are_too_long_are_found_before_there_are_scores() {
    let workspace = workspace();
    let long = "where is the sea and the river ".repeat(40);
    workspace.write("queries.tsv", format!("q1\twhat do tollers do\nq2\t{long}\n"));
    let failed = workspace.toller(&format!("{RERANK} --output out.run"));
    failed.fails(1, &["the hits of 1 query, the first of them \"q2\"", "--truncation longest_first"]);
    workspace.runs(&format!("{RERANK} --output out.run --truncation longest_first"));
}

#[test]
fn windows_are_aggregated() {
    let workspace = workspace();
    let rerank = |flags: &str| {
        workspace.runs(&format!("{RERANK} --depth 5 --output w.run {flags}"));
        hits(&workspace, "w.run")["q2"].iter().cloned().collect::<HashMap<String, f32>>()
    };
    let [max, first, mean] = ["max", "first", "mean"]
        .map(|how| rerank(&format!("--passage-window 40 --stride 20 --aggregate {how}")));
    let whole = rerank("");
    // One window is the passage.
    for scores in [&max, &first, &mean] {
        assert_eq!(scores["d5"], whole["d5"]);
    }
    assert!(max["d4"] > mean["d4"] && max["d4"] >= first["d4"], "{max:?} {first:?} {mean:?}");
    workspace
        .toller(&format!("{RERANK} --passage-window 12 --stride 13 --output w.run"))
        .fails(2, &["would leave out tokens", "hint:"]);
}

#[test]
fn queries_may_be_in_several_files() {
    let workspace = workspace();
    std::fs::create_dir(workspace.path("parts")).unwrap();
    workspace.write("parts/a.tsv", "q1\twhat do tollers do\n");
    workspace.write("parts/b.tsv", "q2\twhere is the sea\n");
    workspace.runs(&format!("{RERANK} --output one.run"));
    for queries in ["parts", "parts/a.tsv parts/b.tsv"] {
        let several = RERANK.replace("queries.tsv", queries);
        workspace.runs(&format!("{several} --overwrite --output several.run"));
        assert_eq!(workspace.lines("several.run"), workspace.lines("one.run"));
    }
}

#[test]
fn missing_texts_are_reported_by_identifier() {
    let workspace = workspace();
    let run = String::from_utf8(workspace.read("first.run")).unwrap();
    workspace.write("missing.run", run.replace("q2 Q0 d1", "q2 Q0 d99"));
    let missing = RERANK.replace("first.run", "missing.run");
    workspace.toller(&format!("{missing} --output x.run")).fails(
        1,
        &["the collection does not have 1 document to rerank, for example \"d99\" of query \"q2\"", "hint:"],
    );
    assert!(!workspace.path("x.run").exists() && !workspace.path("x.run.scores").exists());
    workspace
        .runs(&format!("{missing} --skip-unavailable --depth 3 --output x.run"))
        .says(["for example \"d99\" of query \"q2\""]);
    let hits_of = hits(&workspace, "x.run");
    assert_eq!(documents(&hits_of["q2"])[2..], ["d99", "d2", "d3"]);

    workspace.write("fewer.tsv", "q2\twhere is the sea\n");
    let fewer = RERANK.replace("queries.tsv", "fewer.tsv");
    workspace.toller(&format!("{fewer} --output y.run")).fails(
        1,
        &["the text of 1 query of the run is missing, for example \"q1\"", "hint: give the queries"],
    );
    workspace.runs(&format!("{fewer} --skip-unavailable --output y.run")).says(["for example \"q1\""]);
    assert_eq!(documents(&hits(&workspace, "y.run")["q1"]), ["d5", "d1", "d4", "d2", "d3"]);

    workspace.runs(&format!("{RERANK} --output z.run")).says(["scored 2 empty passages, for example \"d3\""]);

    let twice = String::from_utf8(workspace.read("corpus.jsonl")).unwrap().replace("\"d5\"", "\"d1\"");
    workspace.write("twice.jsonl", twice);
    workspace
        .toller(&format!("{} --output x.run", RERANK.replace("corpus.jsonl", "twice.jsonl")))
        .fails(1, &["twice.jsonl, line 5: duplicate id: found \"d1\"", "twice.jsonl, line 1"]);
}

/// Every run of the command is separated like its output.
#[test]
fn scores_of_models_may_have_identifiers_with_spaces() {
    let workspace = workspace();
    workspace.write("spaces.jsonl", "{\"_id\": \"d 1\", \"text\": \"the city\"}\n");
    workspace.write("spaces.run", "q1\tQ0\td 1\t1\t1\tx\n");
    let rerank = RERANK.replace("corpus.jsonl", "spaces.jsonl").replace("first.run", "spaces.run");
    workspace.runs(&format!("{rerank} --tab-separated --keep-model-scores scores --output x.run"));
    let line = workspace.lines("scores/1-mpnet.run").remove(0);
    assert!(line.starts_with("q1\tQ0\td 1\t1\t") && line.ends_with("\tmpnet"), "{line}");
}

#[test]
fn several_models_are_an_ensemble() {
    let workspace = workspace();
    workspace.add_fixture("cross-encoders/bert");
    let bert = RERANK.replace("cross-encoders/mpnet", "cross-encoders/bert");
    // Three labels: which one counts has to be said.
    workspace.toller(&format!("{bert} --output x.run")).fails(1, &["label"]);
    workspace.add_fixture("cross-encoders/roberta");
    let both = RERANK.replace("cross-encoders/mpnet", "cross-encoders/mpnet cross-encoders/roberta");
    let done =
        workspace.runs(&format!("{both} --depth 5 --keep-model-scores scores --output both.run --json"));
    assert_eq!(done.json()["pairs"], 20);
    let [one, two] = ["scores/1-mpnet.run", "scores/2-roberta.run"].map(|run| hits(&workspace, run));
    for (query, found) in hits(&workspace, "both.run") {
        let by_id = |hits: &[(String, f32)]| hits.iter().cloned().collect::<HashMap<String, f32>>();
        let (one, two) = (by_id(&one[&query]), by_id(&two[&query]));
        for (document, score) in found {
            let mean = (f64::from(one[&document]) + f64::from(two[&document])) / 2.0;
            assert!((f64::from(score) - mean).abs() < 1e-6, "{document}: {score}, {mean}");
        }
    }
    for flags in ["--combine rrf", "--combine mean-rank", "--combine softmax-mean", "--interpolate 0.3"] {
        workspace.runs(&format!("{both} --depth 5 --output x.run {flags}"));
        assert_eq!(hits(&workspace, "x.run")["q1"].len(), 5);
    }
    let first_stage = workspace.runs(&format!("{both} --interpolate 0 --output x.run"));
    assert_eq!(
        documents(&hits(&workspace, "x.run")["q1"]),
        ["d5", "d1", "d4", "d2", "d3"],
        "{}",
        first_stage.stderr
    );
}
