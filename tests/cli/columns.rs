//! The names of columns, fields and elements, from outside.

use crate::support::Workspace;

const QUERIES: [(&str, &str); 2] = [("q1", "the nile"), ("q2", "rivers of france")];

/// A collection with titles and its index; queries whose texts are in `title`, and the same as columns.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.add_fixture("cross-encoders/mpnet");
    let document = |id: &str, title: &str, text: &str| {
        format!("{{\"id\":\"{id}\",\"title\":\"{title}\",\"text\":\"{text}\"}}\n")
    };
    workspace.write(
        "corpus.jsonl",
        document("d1", "The Nile", "a river of Africa")
            + &document("d2", "France", "its rivers are the Loire and others"),
    );
    workspace.write(
        "q.jsonl",
        QUERIES.map(|(id, text)| format!("{{\"id\":\"{id}\",\"title\":\"{text}\"}}\n")).concat(),
    );
    workspace.write("q.tsv", QUERIES.map(|(id, text)| format!("{id}\t{text}\n")).concat());
    workspace.write("qrels.txt", "q1 0 d1 1\nq2 0 d2 1\n");
    workspace.runs("index -q --language en --corpus corpus.jsonl --output index");
    workspace
}

#[test]
fn every_command_that_reads_queries_takes_the_names_of_their_columns() {
    let workspace = workspace();
    workspace.runs("search -q --sparse index --queries q.tsv --tag t --output first.run");
    workspace
        .toller("search -q --sparse index --queries q.jsonl --output x")
        .fails(1, &["q.jsonl, line 1: missing field: found no text", "hint:", "--query-text-column"]);
    let rerank = "rerank -q --model cross-encoders/mpnet --run first.run --corpus corpus.jsonl --tag t";
    let tune = "tune bm25 -q --sparse index --qrels qrels.txt --k1 0.9 --b 0.4 --measure RR@10 --format csv";
    let by = |command: &str, queries: &str| workspace.runs(&format!("{command} --queries {queries}"));
    let named = "q.jsonl --query-id-column id --query-text-column title";
    for command in ["search -q --sparse index --tag t", rerank] {
        by(&format!("{command} --output plain.run"), "q.tsv");
        by(&format!("{command} --output named.run"), named);
        assert_eq!(workspace.read("named.run"), workspace.read("plain.run"), "{command}");
    }
    assert_eq!(by(tune, named).stdout, by(tune, "q.tsv").stdout);
    for (columns, store) in [("--query-text-column title", "a"), ("--text-column title", "b")] {
        by(&format!("encode -q --model tiny-bert {columns} --output {store}"), "q.jsonl");
    }
    assert_eq!(workspace.files_in("a"), workspace.files_in("b"));
    workspace
        .toller("encode --model tiny-bert --corpus corpus.jsonl --output c --query-text-column title")
        .fails(2, &["--query-text-column is for --queries, which is not given"]);
}

#[test]
fn columns_without_a_header_are_not_taken_for_another_format() {
    let workspace = workspace();
    let rows = "D1\thttps://a.org\tNile\tA river.\nD2\thttps://b.org\tFrance\tA country.\n";
    workspace.write("docs.tsv", rows);
    let index = "index -q --language en --output docs --corpus docs.tsv";
    workspace
        .toller(index)
        .fails(1, &["cannot tell its format", "hint:", "names the columns", "--text-column"]);
    workspace.write("docs.tsv", format!("id\turl\ttitle\tbody\n{rows}"));
    workspace.runs(index);
    workspace.runs("search -q --sparse docs --queries q.tsv --output docs.run");
    assert_eq!(workspace.hits::<f32>("docs.run")["q1"][0].0, "D1");
}
