//! `toller search WORDS`: queries that are typed, hits that are shown; and `toller index-info`.

use crate::support::{Finished, Workspace};

/// Five passages and their index.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write(
        "corpus.jsonl",
        concat!(
            "{\"_id\":\"d1\",\"title\":\"Rivers\",\"text\":\"The Nile is the longest river of Africa.\"}\n",
            "{\"_id\":\"d2\",\"title\":\"Lakes\",\"text\":\"Lake Victoria feeds the Nile, the Nile feeds Egypt.\"}\n",
            "{\"_id\":\"d3\",\"text\":\"Nothing \\u001b]0;of\\u0007 that kind.\"}\n",
            "{\"_id\":\"d4\",\"text\":\"Rivers run to the sea.\"}\n",
            "{\"_id\":\"d5\",\"text\":\"\"}\n",
        ),
    );
    workspace.toller("index -q --corpus corpus.jsonl --language en --output index").succeeds();
    workspace
}

#[test]
fn words_are_searched_for_and_hits_are_shown() {
    let workspace = workspace();
    let found = workspace.toller("search the nile --sparse index --corpus corpus.jsonl").succeeds();
    let lines: Vec<&str> = found.stdout.lines().map(str::trim_end).collect();
    assert_eq!(lines.len(), 4, "{}", found.stdout);
    assert!(lines[0].starts_with("  1  ") && lines[0].ends_with("d2  Lakes"), "{}", found.stdout);
    assert_eq!(lines[1], "    Lake Victoria feeds the Nile, the Nile feeds Egypt.");
    assert!(lines[2].starts_with("  2  ") && lines[2].ends_with("d1  Rivers"), "{}", found.stdout);
    assert!(found.stderr.contains("5 documents searched in "), "{}", found.stderr);
    // Only identifiers, and as many as --k says.
    let found = workspace.toller("search nile -q --sparse index --k 1").succeeds();
    assert_eq!((found.stdout.lines().count(), found.stdout.contains("d2"), &*found.stderr), (1, true, ""));
    let nothing = workspace.toller("search zebra --sparse index").succeeds();
    assert_eq!((&*nothing.stdout, nothing.stderr.contains("no hits; 5 documents")), ("", true));
    workspace.runs("search the --sparse index").says(["no term of the query is left after analysis"]);
}

#[test]
fn flags_of_runs_are_refused_at_the_prompt() {
    let workspace = workspace();
    for flag in ["--shard 1/4", "--tag x", "--output-format msmarco", "--tab-separated", "--max-passage"] {
        let name = flag.split(' ').next().unwrap_or_default();
        workspace
            .toller(&format!("search --sparse index {flag}"))
            .fails(2, &[&format!("{name} is for a run, and queries are typed here"), "give --queries"]);
    }
}

#[test]
fn hits_without_a_text_are_reported() {
    let workspace = workspace();
    workspace.write("wrong.tsv", "x\ttext\n");
    let found = workspace.runs("search the nile --sparse index --corpus wrong.tsv");
    found.says(["warning: none of the 2 hits is in --corpus, for example \"d2\""]);
    workspace.head("corpus.jsonl", 1, "half.jsonl");
    let found = workspace.runs("search the nile --sparse index --corpus half.jsonl");
    found.says(["warning: 1 of 2 hits are not in --corpus, for example \"d2\""]);
    let found = workspace.runs("search the nile --sparse index --corpus corpus.jsonl");
    assert!(!found.stderr.contains("warning"), "{}", found.stderr);
}

#[test]
fn words_after_an_option_with_several_values_are_noticed() {
    let workspace = workspace();
    let search = "search --sparse index --corpus corpus.jsonl";
    for words in ["nile", "nile river"] {
        workspace
            .toller(&format!("{search} {words}"))
            .fails(1, &["there is no file nile for --corpus", "before the options, or after --"]);
    }
    workspace.toller(&format!("{search} no.tsv")).fails(1, &["cannot open no.tsv"]);
    workspace.runs(&format!("{search} -- nile"));
}

#[test]
fn a_text_cannot_steer_the_terminal() {
    let workspace = workspace();
    let found = workspace.toller("search kind --sparse index --corpus corpus.jsonl").succeeds();
    assert!(found.stdout.contains("Nothing  ]0;of that kind."), "{:?}", found.stdout);
}

#[test]
fn lines_of_stdin_are_queries() {
    let workspace = workspace();
    let found = workspace.toller_reading(b"lake\n\n  \nsea river\n", "search --sparse index -q").succeeds();
    let ids: Vec<&str> = found.stdout.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(ids, ["d2", "d4", "d1"], "{}", found.stdout);
}

#[test]
fn what_is_not_a_text_is_refused() {
    let workspace = workspace();
    for words in ["", "  "] {
        let mut search = workspace.command("search --sparse index");
        let searched = Finished::new(search.arg(words).output().unwrap());
        searched.fails(2, &["there are no words to search for"]);
    }
    workspace
        .toller_reading(b"\nse\xff\n", "search --sparse index -q")
        .fails(1, &["standard input, line 2: not UTF-8", "hint: convert the file"]);
}

#[test]
fn a_store_knows_its_model() {
    let workspace = workspace();
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output store");
    let found = workspace.runs("search lake --dense store");
    found.says(["queries are encoded by the model of the store, tiny-bert"]);
    assert_eq!(found.stdout, workspace.runs("search lake --dense store --model tiny-bert").stdout);
    workspace.runs("store export -q store --output vectors.npy");
    workspace.runs("store import -q vectors.npy --row-ids --output imported");
    let unknown = [
        "the store does not name its model, so these texts cannot be encoded",
        "hint: give the model that made the vectors: --model",
    ];
    workspace.toller("search lake --dense imported").fails(2, &unknown);
    std::fs::rename(workspace.path("tiny-bert"), workspace.path("elsewhere")).unwrap();
    workspace.toller("search lake --dense store").fails(1, &["tiny-bert"]);
}

#[test]
fn scores_are_explained() {
    let workspace = workspace();
    let found = workspace
        .toller("search nile river zebra --sparse index --explain --json --corpus corpus.jsonl")
        .succeeds();
    let found = found.json();
    let hits = found["hits"].as_array().unwrap();
    // The title is indexed with the text.
    assert_eq!(
        hits.iter().map(|hit| hit["doc_id"].as_str().unwrap()).collect::<Vec<_>>(),
        ["d1", "d2", "d4"]
    );
    for hit in hits {
        let terms = hit["explanation"]["terms"].as_array().unwrap();
        assert_eq!(terms.iter().map(|term| &term["term"]).collect::<Vec<_>>(), ["nile", "river"]);
        let sum: f64 = terms.iter().map(|term| term["score"].as_f64().unwrap()).sum();
        assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-5, "{hit}");
    }
    assert_eq!(hits[1]["explanation"]["terms"][1]["frequency"], 0);
    // The same scores as in a run.
    workspace.write("q.tsv", "1\tnile river zebra\n");
    workspace.toller("search -q --sparse index --queries q.tsv --output run.txt").succeeds();
    for (line, hit) in workspace.lines("run.txt").iter().zip(hits) {
        let score: f32 = line.split(' ').nth(4).unwrap().parse().unwrap();
        assert_eq!(f64::from(score), hit["score"].as_f64().unwrap());
    }
}

#[test]
fn scores_of_an_expanded_query_among_some_documents_are_explained() {
    let workspace = Workspace::new();
    let others = (0..28).map(|number| format!("filler{number} word{number}"));
    let texts = ["nile nile egypt pyramid", "nile lake victoria uganda victoria"].map(str::to_owned);
    let line = |(number, text): (usize, String)| format!("d{number}\t{text}\n");
    workspace.write("corpus.tsv", texts.into_iter().chain(others).enumerate().map(line).collect::<String>());
    workspace.write("allowed.txt", "d1\nd5\n");
    workspace.runs("index -q --language en --corpus corpus.tsv --doc-vectors --output index");
    for flags in ["", "--allow allowed.txt"] {
        let search = "search nile --sparse index --rm3 --rm3-fb-docs 1 --explain --json";
        let found = workspace.runs(&format!("{search} {flags}")).json();
        for hit in found["hits"].as_array().unwrap() {
            let terms = hit["explanation"]["terms"].as_array().unwrap();
            let sum: f64 = terms.iter().map(|term| term["score"].as_f64().unwrap()).sum();
            assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-5, "{flags}: {hit}");
            let has = |name: &str| terms.iter().any(|term| term["term"] == name);
            assert_eq!(
                (has("egypt"), has("uganda")),
                (flags.is_empty(), !flags.is_empty()),
                "{flags}: {hit}"
            );
        }
    }
}

#[test]
fn vectors_are_searched_for_words_too() {
    let workspace = workspace();
    workspace.toller("encode -q --model tiny-bert --corpus corpus.jsonl --output store").succeeds();
    let found =
        workspace.toller("search nile -q --dense store --model tiny-bert --k 2 --corpus corpus.jsonl");
    assert_eq!(found.succeeds().stdout.lines().filter(|line| !line.starts_with("    ")).count(), 2);
    let hybrid = "search nile -q --dense store --model tiny-bert --sparse index --fusion rrf --k 5";
    assert_eq!(workspace.toller(hybrid).succeeds().stdout.lines().count(), 5);
    workspace.toller("encode -q --model tiny-bert --queries q.tsv --output vectors").fails(1, &["q.tsv"]);
    workspace.toller("search nile --dense store --query-vectors vectors").fails(2, &["--query-vectors"]);
}

#[test]
fn flags_of_the_other_kind_of_search_are_refused() {
    let workspace = workspace();
    workspace.write("q.tsv", "1\tnile\n");
    let search = "search --sparse index --queries q.tsv";
    workspace.toller(search).fails(2, &["--output"]);
    workspace.toller(&format!("{search} --output r.txt --explain")).fails(2, &["--explain", "hint: "]);
    workspace.toller(&format!("{search} --output r.txt --corpus corpus.jsonl")).fails(2, &["--corpus"]);
    workspace.toller("search nile").fails(2, &["nothing to search"]);
    workspace.write("pairs.tsv", "1\td2\n");
    for flags in ["--queries q.tsv", "--output r.txt", "--tag mine", "--overwrite", "--exclude pairs.tsv"] {
        let flag = flags.split(' ').next().unwrap();
        workspace.toller(&format!("search nile --sparse index {flags}")).fails(2, &[flag]);
    }
}

#[test]
fn queries_come_from_several_files_and_folders() {
    let workspace = workspace();
    std::fs::create_dir_all(workspace.path("folder")).unwrap();
    workspace.write("folder/a.tsv", "a\tnile\n");
    workspace.write("folder/b.tsv", "b\tsea\n");
    workspace.write("c.jsonl", "{\"_id\":\"c\",\"text\":\"lake\"}\n");
    let queries = |names: &str| {
        let run = format!("search -q --sparse index --queries {names} --k 1 --output run.txt");
        workspace.toller(&run).succeeds();
        let lines = workspace.lines("run.txt");
        lines.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(queries("folder"), ["a", "b"]);
    assert_eq!(queries("folder/b.tsv folder/a.tsv"), ["b", "a"]);
    // A folder as BEIR publishes them.
    std::fs::create_dir_all(workspace.path("beir")).unwrap();
    workspace.write("beir/corpus.jsonl", workspace.read("corpus.jsonl"));
    workspace.write("beir/queries.jsonl", workspace.read("c.jsonl"));
    assert_eq!(queries("beir"), ["c"]);
}

#[test]
fn an_index_without_terms_is_noticed() {
    let workspace = Workspace::new();
    workspace.write("blank.tsv", "a\tthe\nb\tof the\n");
    workspace
        .runs("index -q --corpus blank.tsv --language en --output blank")
        .says(["warning: no text of the collection has a term"]);
}

#[test]
fn an_index_says_what_it_has() {
    let workspace = workspace();
    let shown = workspace.toller("index-info index --term nile --term zebra --term The").succeeds();
    for line in ["documents            5", "analyzer             en", "without terms        1"] {
        assert!(shown.stdout.contains(line), "{line:?} is not in:\n{}", shown.stdout);
    }
    shown.says(["no term of \"The\" is left after analysis"]);
    let json = workspace.toller("index-info index --term nile --term zebra --json").succeeds().json();
    assert_eq!(json["documents"], 5);
    assert_eq!(json["terms_asked"][0]["term"], "nile");
    assert_eq!(json["terms_asked"][0]["document_frequency"], 2);
    assert_eq!(json["terms_asked"][0]["collection_frequency"], 3);
    assert_eq!(json["terms_asked"][1]["document_frequency"], 0);
    workspace.toller("index-info nowhere").fails(1, &["nowhere"]);
    workspace.toller("index-info tiny-bert").fails(1, &["tiny-bert is not an inverted index"]);
}
