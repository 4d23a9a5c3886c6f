//! Indexes of impacts, from outside.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::Workspace;

const PASSAGES: &str = r###"{"id": "a", "contents": "one", "title": "T", "vector": {"the": 3, "##ing": 250, "^": 2}}
{"id": "b", "contents": "two", "vector": {"##ing": 10, "rare": 7}}
{"id": "c", "contents": "three", "vector": {}}
{"id": "d", "contents": "four", "vector": {"the": 3}}
"###;

/// A workspace with an index of impacts, and one of the texts.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("corpus.jsonl", PASSAGES);
    workspace.runs("index -q --impact --corpus corpus.jsonl --output impacts");
    workspace.runs("index -q --language en --doc-vectors --corpus corpus.jsonl --output plain");
    workspace.write("q.tsv", "1\tthe ##ing the\n2\tabsent\n3\trare\n");
    workspace
}

#[test]
fn sums_of_products_are_searched_for() {
    let workspace = workspace();
    workspace.write(
        "q.jsonl",
        "{\"id\": \"1\", \"contents\": \"x\", \"vector\": {\"##ing\": 1, \"the\": 2}}\n{\"id\": \"2\", \"text\": \"absent\"}\n\
         {\"id\": \"3\", \"vector\": {\"rare\": 1}}\n",
    );
    let hit = |document: &str, score: f32| (document.to_owned(), score);
    let of_first = vec![hit("a", 256.0), hit("b", 10.0), hit("d", 6.0)];
    let expected = BTreeMap::from([("1".to_owned(), of_first), ("3".to_owned(), vec![hit("b", 7.0)])]);
    for queries in ["q.tsv", "q.jsonl"] {
        let search = format!("search -q --sparse impacts --queries {queries} --overwrite --output run");
        workspace.runs(&search);
        assert_eq!(workspace.hits("run"), expected, "{queries}");
        workspace.runs(&format!("{search} --ranker impact"));
        assert_eq!(workspace.hits("run"), expected, "{queries}");
    }
    let info: Value = workspace.runs("index-info impacts --term the --json").json();
    assert_eq!(
        (&info["analyzer"], &info["terms_asked"][0]["most_in_a_document"]),
        (&"impact".into(), &3.into())
    );
    workspace.runs("index --impact --corpus corpus.jsonl --output impacts").says(["nothing to do"]);
}

#[test]
fn impacts_are_not_mixed_with_texts() {
    let workspace = workspace();
    workspace
        .runs("index --language en --corpus corpus.jsonl --output other")
        .says(["warning: passages have weights of terms", "--impact"]);
    workspace.write("real.jsonl", "{\"id\": \"a\", \"vector\": {\"the\": 0.53}}\n");
    workspace.write("texts.tsv", "id\ttext\na\tb\n");
    workspace.write("qrels.txt", "1 0 a 1\n");
    let impacts = "search --sparse impacts --queries q.tsv --output x";
    for (code, command, says) in [
        (1, "index --impact --corpus real.jsonl --output x", "real.jsonl, line 1"),
        (1, "index --impact --corpus real.jsonl --output x", "hint: quantize weights"),
        (1, "index --impact --corpus texts.tsv --output x", "only from JSON"),
        (2, "index --impact --language en --corpus corpus.jsonl --output x", "cannot be used with"),
        (1, "index --impact --corpus corpus.jsonl --output plain", "its analyzer is en, asked for is impact"),
        (1, &format!("{impacts} --ranker bm25"), "only the ranker impact scores these"),
        (1, &format!("{impacts} --k1 1"), "hint: search it with --ranker impact"),
        (1, &format!("{impacts} --exact-lengths"), "do not depend on lengths"),
        (1, &format!("{impacts} --rm3"), "queries are not expanded"),
        (1, &format!("{impacts} --rocchio"), "queries are not expanded"),
        (1, "search --sparse plain --ranker impact --queries q.tsv --output x", "toller index --impact"),
        (
            2,
            &format!("{impacts} --dense store --fusion rrf"),
            "hint: name its model with --sparse-model, or search it by itself",
        ),
        (
            2,
            "retrieve --sparse impacts --queries q.tsv --rerank M --corpus corpus.jsonl --output x",
            "holds impacts",
        ),
        (2, "mine --sparse impacts --queries q.tsv --qrels qrels.txt --output x", "give its run as --run"),
        (1, "tune bm25 --sparse impacts --queries q.tsv --qrels qrels.txt", "only the ranker impact"),
    ] {
        workspace.toller(command).fails(code, &[says]);
        assert!(!workspace.path("x").exists(), "{command}");
    }
}
