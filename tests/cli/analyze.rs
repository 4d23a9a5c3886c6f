//! `toller analyze`: terms as lines or JSON, from arguments or standard input.

use std::fs;

use crate::support::{Finished, Workspace};

#[test]
fn terms_are_shown_by_language_and_by_analyzer() {
    let workspace = Workspace::new();
    let english = workspace.runs("analyze --language en Running children's The");
    assert_eq!(english.stdout, "run\nchildren\n\n");
    let lines = "Die Häuser am Fluß\nfünf Äpfel\n".as_bytes();
    let german = workspace.toller_reading(lines, "analyze --language de").succeeds();
    assert_eq!(german.stdout, "haus fluss\nfunf apfel\n");
    let chinese = workspace.runs("analyze --language zh --json 北京大学").json();
    assert_eq!(chinese["texts"][0]["terms"], serde_json::json!(["北京", "京大", "大学"]));
    let words = workspace.runs("analyze --analyzer jieba 我来到北京清华大学");
    assert_eq!(words.stdout, "我 来到 北京 清华大学\n");
}

#[test]
fn a_line_that_is_not_utf8_is_named() {
    let workspace = Workspace::new();
    let analyze = "analyze --analyzer whitespace";
    workspace.toller_reading(b"\xff\na\n", analyze).fails(
        1,
        &[
            "standard input, line 1: not UTF-8",
            "hint: convert the file to UTF-8 (iconv -f ENCODING -t UTF-8)",
        ],
    );
    // Empty lines and both ends of lines.
    for analyze in [analyze, "analyze --analyzer whitespace -"] {
        assert_eq!(workspace.toller_reading(b"a  b\r\n\n c", analyze).succeeds().stdout, "a b\n\nc\n");
    }
}

#[test]
fn an_unknown_analyzer_is_an_error_that_lists_them() {
    let workspace = Workspace::new();
    workspace.toller("analyze --language xx text").fails(
        2,
        &["there is no analyzer named \"xx\"", "hint: analyzers are: ar, bn", "use --analyzer standard"],
    );
    workspace.toller("analyze text").fails(2, &["--language"]);
    workspace.toller("analyze --language en --analyzer jieba text").fails(2, &["cannot be used with"]);
}

#[test]
fn the_model_of_an_index_may_have_another_place() {
    let workspace = Workspace::with_xquad();
    let index = "index --corpus data/corpus.jsonl --output index --analyzer";
    workspace.runs(&format!("{index} wordpiece:./tiny-bert"));
    let mut elsewhere = workspace.command("index-info ../index");
    Finished::new(elsewhere.current_dir(workspace.path("data")).output().unwrap()).succeeds();

    fs::rename(workspace.path("tiny-bert"), workspace.path("data/moved")).unwrap();
    let search = "search --sparse index --queries data/queries.jsonl --overwrite --output";
    let hint = "hint: name the model with `--analyzer wordpiece:MODEL`";
    for command in [format!("{search} run"), "index-info index".to_owned()] {
        workspace.toller(&command).fails(1, &["its model is not on this machine", hint]);
        workspace.runs(&format!("{command} --analyzer wordpiece:data/moved"));
    }
    workspace.runs(&format!("{index} wordpiece:data/moved")).says(["nothing to do"]);
    let other = format!("{search} other --analyzer en");
    workspace
        .toller(&other)
        .fails(1, &["was made with the analyzer wordpiece:", "hint: name the index's own"]);
    let vain =
        "search --dense store --model data/moved --queries data/queries.jsonl --output other --analyzer en";
    workspace.toller(vain).fails(2, &["--analyzer is for sparse retrieval"]);
    assert!(!workspace.has_trace_of("other"));
}
