//! Runs of documents that are found by their passages.

use std::collections::HashSet;

use crate::support::Workspace;

/// The sentences of XQuAD-R as passages of their paragraphs: `p12#34` is sentence 34, of paragraph 12.
fn workspace() -> Workspace {
    let workspace = Workspace::with_xquad();
    let rows = workspace.lines("data/corpus.jsonl").into_iter().take(300).map(|line| {
        let row: serde_json::Value = serde_json::from_str(&line).unwrap();
        let of = |field: &str| row[field].as_str().unwrap()[1..].to_owned();
        let id = format!("p{}#{}", of("paragraph_id"), of("_id"));
        serde_json::json!({"_id": id, "text": row["text"]}).to_string() + "\n"
    });
    workspace.write("passages.jsonl", rows.collect::<String>());
    workspace.head("data/queries.jsonl", 40, "queries.jsonl");
    workspace.runs("index -q --language en --corpus passages.jsonl --output index");
    workspace
}

/// The lines of documents that the lines of passages make.
fn documents(passages: &[String], hits: usize) -> Vec<String> {
    let (mut query, mut seen, mut lines) = (String::new(), HashSet::new(), Vec::new());
    for line in passages {
        let columns: Vec<&str> = line.split(' ').collect();
        if columns[0] != query {
            query = columns[0].to_owned();
            seen.clear();
        }
        let document = columns[2].split('#').next().unwrap();
        if seen.len() < hits && seen.insert(document.to_owned()) {
            lines.push(format!("{query} Q0 {document} {} {} {}", seen.len(), columns[4], columns[5]));
        }
    }
    lines
}

/// From documents to a run of documents, by passages that overlap.
#[test]
fn documents_are_cut_searched_and_put_together_again() {
    let workspace = Workspace::new();
    workspace.write(
        "documents.jsonl",
        "{\"_id\": \"d1\", \"title\": \"Dogs\", \"text\": \"one two three four ducks\"}\n\
         {\"_id\": \"d2\", \"text\": \"ducks one ducks\"}\n{\"_id\": \"d3\", \"text\": \"\"}\n",
    );
    let cut = workspace.runs("data passages documents.jsonl --words 3 --stride 2 --output cut --json").json();
    let figures = &cut["statistics"]["passages"];
    assert_eq!((&figures["documents"], &figures["passages"]), (&3.into(), &4.into()), "{cut:#}");
    let lines = [
        r#"{"_id":"d1#0","title":"Dogs","text":"one two three"}"#,
        r#"{"_id":"d1#1","title":"Dogs","text":"three four ducks"}"#,
        r#"{"_id":"d2#0","text":"ducks one ducks"}"#,
        r#"{"_id":"d3#0","text":""}"#,
    ];
    assert_eq!(workspace.lines("cut/corpus.jsonl"), lines);
    workspace.runs("index -q --language en --corpus cut --output index");
    workspace.write("q.tsv", "q1\tducks dogs\n");
    workspace.runs("search -q --sparse index --queries q.tsv --max-passage --output documents.run");
    let run = workspace.lines("documents.run");
    let found: Vec<&str> = run.iter().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(found, ["d1", "d2"]);

    let cut = "data passages documents.jsonl --output";
    workspace
        .toller(&format!("{cut} x --words 3 --stride 4"))
        .fails(2, &["leaves out", "--stride at most 3"]);
    workspace.toller(&format!("{cut} x --words 3 --sentences 4")).fails(2, &["cannot be used with"]);
    workspace.toller(&format!("{cut} x")).fails(2, &["--words"]);
    workspace.toller(&format!("{cut} x --words 3 --sentence-rules english")).fails(2, &["--sentences"]);
    workspace
        .toller(&format!("{cut} x --words 3 --delimiter d"))
        .fails(1, &["\"d1\"", "hint: choose a delimiter"]);
    assert!(!workspace.path("x/corpus.jsonl").exists());
    workspace.toller(&format!("{cut} cut --words 3")).fails(2, &["has files already"]);
}

#[test]
fn words_without_spaces_between_them_are_reported() {
    let workspace = Workspace::new();
    let text = "狗会游泳".repeat(10);
    workspace.write("zh.jsonl", format!("{{\"_id\": \"d\", \"text\": \"{text}\"}}\n"));
    workspace.runs("data passages zh.jsonl --words 5 --output words").says([
        "warning: 1 of 1 passages have words of more than 20 characters on average",
        "--characters N cuts such texts",
    ]);
    let cut = workspace.runs("data passages zh.jsonl --characters 5 --output characters");
    assert!(!cut.stderr.contains("warning"), "{}", cut.stderr);
}

#[test]
fn a_document_may_have_spaces_in_its_identifier() {
    let workspace = Workspace::new();
    workspace.write("people.jsonl", "{\"_id\": \"Geneva Durben\", \"text\": \"she likes tapirs\"}\n");
    workspace.runs("data passages people.jsonl --words 2 --output cut");
    let lines =
        [r#"{"_id":"Geneva Durben#0","text":"she likes"}"#, r#"{"_id":"Geneva Durben#1","text":"tapirs"}"#];
    assert_eq!(workspace.lines("cut/corpus.jsonl"), lines);
}

#[test]
fn a_document_has_the_score_of_its_best_passage() {
    let workspace = workspace();
    let search = "search --sparse index --queries queries.jsonl --k 100";
    workspace.runs(&format!("{search} -q --output passages.run"));
    let passages = workspace.lines("passages.run");
    let all = documents(&passages, usize::MAX);
    assert!(all.len() < passages.len(), "{} of {}", all.len(), passages.len());

    let found = workspace.runs(&format!("{search} --output documents.run --max-passage --json"));
    assert_eq!(workspace.lines("documents.run"), all);
    assert_eq!(found.json()["hits"], all.len());
    workspace.runs(&format!("{search} --output five.run --max-passage --max-passage-hits 5"));
    assert_eq!(workspace.lines("five.run"), documents(&passages, 5));

    let fuse = "fuse passages.run passages.run --method combsum --normalize none";
    workspace.runs(&format!("{fuse} --output fused.run"));
    let fused = workspace.runs(&format!("{fuse} --max-passage --output fused-documents.run --json"));
    assert_eq!(workspace.lines("fused-documents.run"), documents(&workspace.lines("fused.run"), usize::MAX));
    assert_eq!(fused.json()["hits"], all.len());
}

#[test]
fn reranking_sees_passages() {
    let workspace = workspace();
    workspace.add_fixture("cross-encoders/distilbert");
    let flags = "-q --queries queries.jsonl --corpus passages.jsonl --truncation longest_first --depth 5";
    let retrieve =
        format!("retrieve {flags} --sparse index --k 20 --rerank cross-encoders/distilbert --keep-stages");
    workspace.runs(&format!("{retrieve} one --output passages.run"));
    workspace.runs(&format!("{retrieve} two --output documents.run --max-passage"));
    let expected = documents(&workspace.lines("passages.run"), usize::MAX);
    assert_eq!(workspace.lines("documents.run"), expected);
    // What was found first stays as it was found.
    assert_eq!(workspace.read("two/first-stage.run"), workspace.read("one/first-stage.run"));

    let rerank = format!("rerank {flags} --run one/first-stage.run --model cross-encoders/distilbert");
    workspace.runs(&format!("{rerank} --max-passage --keep-model-scores scores --output reranked.run"));
    assert_eq!(workspace.lines("reranked.run"), expected);
    assert!(workspace.lines("scores/1-distilbert.run").iter().all(|line| line.contains('#')));
}

#[test]
fn shards_are_merged_into_documents() {
    let workspace = workspace();
    workspace.runs("encode -q --model tiny-bert --corpus passages.jsonl --output store --rows-per-shard 100");
    let search = "search -q --dense store --model tiny-bert --queries queries.jsonl --k 50";
    workspace.runs(&format!("{search} --output documents.run --max-passage"));
    for part in ["1/2", "2/2"] {
        workspace.runs(&format!("{search} --output merged.run --shard {part}"));
    }
    workspace.runs("merge merged.run.part-00001-of-00002 merged.run.part-00002-of-00002 --max-passage --output merged.run");
    assert_eq!(workspace.lines("merged.run"), workspace.lines("documents.run"));
    workspace
        .toller(&format!("{search} --output other.run --shard 1/2 --max-passage"))
        .fails(2, &["--max-passage", "--shard"]);
    workspace
        .toller(&format!("{search} --output other.run --shard 1/2 --max-passage-hits 1"))
        .fails(2, &["--max-passage-hits", "--shard"]);
}

#[test]
fn a_delimiter_that_no_passage_has_is_noticed() {
    let workspace = workspace();
    let search = "search --sparse index --queries queries.jsonl --k 20 --output run";
    let changed = workspace.runs(&format!("{search} --max-passage"));
    assert!(!changed.stderr.contains("warning"), "{}", changed.stderr);
    // Each document has one hit.
    let changed = workspace.runs(&format!("{search} --max-passage --max-passage-hits 1"));
    assert!(!changed.stderr.contains("warning"), "{}", changed.stderr);
    workspace
        .runs(&format!("{search} --max-passage --max-passage-delimiter :: --overwrite"))
        .says(["--max-passage changed nothing", "\"::\""]);
    workspace.toller(&format!("{search} --max-passage-delimiter ::")).fails(2, &["--max-passage"]);
    for shown in ["city --max-passage-hits 1", "city --max-passage-delimiter ::"] {
        workspace.toller(&format!("search --sparse index {shown}")).fails(2, &["cannot be used with"]);
    }
    let mut empty = workspace.command(&format!("{search} --max-passage --max-passage-delimiter"));
    crate::support::Finished::new(empty.arg("").output().unwrap()).fails(2, &["--max-passage-delimiter"]);
}
