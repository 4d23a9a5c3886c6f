//! Reranking: scores are the model's, the rest follows below, what has no text is told by identifier, and
//! what is known is not computed again.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use toller_encoder::{CrossEncoder, CrossEncoderOptions};

use crate::support::Workspace;

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

/// Documents and scores of each query of a run.
fn hits(workspace: &Workspace, run: &str) -> HashMap<String, Vec<(String, f32)>> {
    let mut hits: HashMap<String, Vec<(String, f32)>> = HashMap::new();
    for line in workspace.lines(run) {
        let columns: Vec<&str> = line.split(' ').collect();
        let of_query = hits.entry(columns[0].to_owned()).or_default();
        of_query.push((columns[2].to_owned(), columns[4].parse().unwrap()));
        assert_eq!(columns[3], of_query.len().to_string(), "ranks count from one");
    }
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
    let done = workspace.toller(&format!("{RERANK} --depth 4 --output out.run --json")).succeeds();
    let report = done.json();
    assert_eq!(
        (&report["pairs"], &report["queries"], &report["empty_passages"]),
        (&8.into(), &2.into(), &0.into())
    );

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
    workspace.toller(&format!("{RERANK} --depth 4 --cut --k 3 --output cut.run")).succeeds();
    assert_eq!(hits(&workspace, "cut.run")["q1"], hits(&workspace, "out.run")["q1"][..3]);
}

#[test]
fn every_form_of_the_collection_gives_the_same_run() {
    let workspace = workspace();
    workspace.toller(&format!("{RERANK} --output plain.run")).succeeds();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&workspace.read("corpus.jsonl")).unwrap();
    workspace.write("corpus.jsonl.gz", gzip.finish().unwrap());
    let zipped = RERANK.replace("corpus.jsonl", "corpus.jsonl.gz");
    let first = workspace.toller(&format!("{zipped} --output gz.run")).succeeds();
    assert!(first.stderr.contains("indexed 5 passages"), "{}", first.stderr);
    let second = workspace.toller(&format!("{zipped} --text-index elsewhere --output gz-2.run")).succeeds();
    assert!(second.stderr.contains("elsewhere"), "{}", second.stderr);
    let again = workspace.toller(&format!("{zipped} --output gz.run")).succeeds();
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
    let anew = workspace.toller(&format!("{RERANK} --output plain.run")).succeeds();
    assert!(anew.stderr.contains("corpus.jsonl has changed"), "{}", anew.stderr);
}

#[test]
fn what_is_known_is_not_computed_again() {
    let workspace = workspace();
    let cached = format!("{RERANK} --cache cache --json --output");
    let first = workspace.toller(&format!("{cached} one.run --depth 3")).succeeds().json();
    assert_eq!((&first["pairs"], &first["known_pairs"]), (&6.into(), &0.into()));
    let second = workspace.toller(&format!("{cached} two.run --depth 3")).succeeds().json();
    assert_eq!((&second["known_pairs"], &second["tokens"]), (&6.into(), &0.into()));
    assert_eq!(workspace.read("one.run"), workspace.read("two.run"));
    // Another run, deeper: what is new is computed, and what another length or window makes of a pair is new.
    let deeper = workspace.toller(&format!("{cached} deep.run --depth 5")).succeeds().json();
    assert_eq!(
        (&deeper["pairs"], &deeper["known_pairs"], &deeper["empty_passages"]),
        (&10.into(), &6.into(), &2.into())
    );
    for flags in ["--max-length 20", "--passage-window 10", "--passage-window 10 --stride 10", "--dtype bf16"]
    {
        let other = workspace.toller(&format!("{cached} other.run --depth 3 {flags}")).succeeds().json();
        // An empty window of flags must not be taken for another.
        assert_eq!(other["known_pairs"], 0, "{flags}");
    }
    workspace.write("cache/notes.txt", "mine");
    workspace
        .toller(&format!("{cached} x.run"))
        .fails(1, &["cache is not empty and no score cache", "notes.txt"]);
}

#[test]
fn windows_are_aggregated() {
    let workspace = workspace();
    let rerank = |flags: &str| {
        workspace.toller(&format!("{RERANK} --depth 5 --output w.run {flags}")).succeeds();
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
fn what_has_no_text_is_told_by_identifier() {
    let workspace = workspace();
    let run = String::from_utf8(workspace.read("first.run")).unwrap();
    workspace.write("lacking.run", run.replace("q2 Q0 d1", "q2 Q0 d99"));
    let lacking = RERANK.replace("first.run", "lacking.run");
    workspace.toller(&format!("{lacking} --output x.run")).fails(
        1,
        &[
            "1 documents that are to be reranked are not in the collection, for example \"d99\" of query \"q2\"",
            "hint:",
        ],
    );
    assert!(!workspace.path("x.run").exists());
    let kept = workspace.toller(&format!("{lacking} --skip-unavailable --depth 3 --output x.run")).succeeds();
    assert!(kept.stderr.contains("for example \"d99\" of query \"q2\""), "{}", kept.stderr);
    let hits_of = hits(&workspace, "x.run");
    assert_eq!(documents(&hits_of["q2"])[2..], ["d99", "d2", "d3"]);

    workspace.write("fewer.tsv", "q2\twhere is the sea\n");
    let fewer = RERANK.replace("queries.tsv", "fewer.tsv");
    workspace
        .toller(&format!("{fewer} --output y.run"))
        .fails(1, &["1 queries of the run have no text, for example \"q1\"", "hint: give the queries"]);
    let kept = workspace.toller(&format!("{fewer} --skip-unavailable --output y.run")).succeeds();
    assert!(kept.stderr.contains("for example \"q1\""), "{}", kept.stderr);
    assert_eq!(documents(&hits(&workspace, "y.run")["q1"]), ["d5", "d1", "d4", "d2", "d3"]);

    let empty = workspace.toller(&format!("{RERANK} --output z.run")).succeeds();
    assert!(empty.stderr.contains("2 empty passages were scored, for example \"d3\""), "{}", empty.stderr);

    let twice = String::from_utf8(workspace.read("corpus.jsonl")).unwrap().replace("\"d5\"", "\"d1\"");
    workspace.write("twice.jsonl", twice);
    workspace
        .toller(&format!("{} --output x.run", RERANK.replace("corpus.jsonl", "twice.jsonl")))
        .fails(1, &["twice.jsonl, line 5: duplicate id: found \"d1\"", "twice.jsonl, line 1"]);
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
    let done = workspace
        .toller(&format!("{both} --depth 5 --keep-model-scores scores --output both.run --json"))
        .succeeds();
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
        workspace.toller(&format!("{both} --depth 5 --output x.run {flags}")).succeeds();
        assert_eq!(hits(&workspace, "x.run")["q1"].len(), 5);
    }
    let first_stage = workspace.toller(&format!("{both} --interpolate 0 --output x.run")).succeeds();
    assert_eq!(
        documents(&hits(&workspace, "x.run")["q1"]),
        ["d5", "d1", "d4", "d2", "d3"],
        "{}",
        first_stage.stderr
    );
}
