//! Answers in their contexts: the second segment of a text, from a field that the user names.

use serde_json::json;

use crate::support::{Workspace, assert_has};

/// Short texts, so that nothing is cut and `--title-mode pair` makes the same segments of other fields.
#[test]
fn a_context_is_the_second_segment() {
    let workspace = Workspace::new();
    let texts = [("a", "the dog", "where is the dog"), ("b", "search", "passage"), ("c", "cat", "")];
    let lines = |line: fn(&(&str, &str, &str)) -> serde_json::Value| {
        texts.iter().map(|text| line(text).to_string() + "\n").collect::<String>()
    };
    workspace.write(
        "answers.jsonl",
        lines(|(id, text, around)| json!({"id": id, "text": text, "around": around})),
    );
    workspace
        .write("titled.jsonl", lines(|(id, text, around)| json!({"id": id, "title": text, "text": around})));
    workspace.write(
        "answers.tsv",
        texts.iter().fold("around\tid\ttext\n".to_owned(), |rows, (id, text, around)| {
            format!("{rows}{around}\t{id}\t{text}\n")
        }),
    );
    let encode = "encode --model tiny-bert --corpus";
    workspace.runs(&format!("{encode} answers.jsonl --context-field around --output context"));
    workspace.runs(&format!("{encode} answers.tsv --context-field around --output columns"));
    workspace.runs(&format!("{encode} titled.jsonl --title-mode pair --output pair"));
    workspace.runs(&format!("{encode} answers.jsonl --output alone"));
    let vectors = |store: &str| workspace.read(&format!("{store}/shard-00000.safetensors"));
    assert!(vectors("context") == vectors("pair"));
    assert!(vectors("context") == vectors("columns"));
    assert!(vectors("context") != vectors("alone"));

    let info = workspace.runs("store info context alone --json").json();
    let encoding = |index: usize| &info["stores"][index]["encoding"];
    assert_has(encoding(0), json!({"title_mode": "context", "context_field": "around"}));
    assert_eq!(encoding(1).get("context_field"), None);
    // The field is a part of what an encode resumes.
    workspace.runs(&format!("{encode} answers.jsonl --context-field around --output context"));
    workspace
        .toller(&format!("{encode} answers.jsonl --output context"))
        .fails(1, &["encoding.context_field", "around"]);
}

#[test]
fn a_context_that_is_missing_is_an_error() {
    let workspace = Workspace::new();
    workspace.write(
        "answers.jsonl",
        "{\"id\": \"a\", \"text\": \"dog\", \"around\": \"the dog\"}\n{\"id\": \"b\", \"text\": \"cat\"}\n",
    );
    workspace.write("plain.tsv", "a\tdog\nb\tcat\n");
    let encode = "encode --model tiny-bert --output store --corpus";
    workspace
        .toller(&format!("{encode} answers.jsonl --context-field around"))
        .fails(1, &["answers.jsonl, line 2", "no context for \"b\"", "a field \"around\""]);
    workspace
        .toller(&format!("{encode} plain.tsv --context-field around"))
        .fails(1, &["plain.tsv", "header"]);
    workspace
        .toller(&format!("{encode} answers.jsonl --context-field around --title-mode sep"))
        .fails(2, &["--context-field", "--title-mode join"]);
    workspace
        .runs(&format!("{encode} answers.jsonl --context-field around --skip-bad-lines"))
        .says(["skipped 1 bad line"]);
}
