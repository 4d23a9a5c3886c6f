//! Sparse and hybrid search, tuning of BM25 and mining from an index, from outside.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Workspace, fixture};

/// XQuAD-R's first 300 sentences, dense and sparse, 40 questions and judgments.
fn workspace() -> Workspace {
    let workspace = Workspace::with_xquad();
    workspace.head("data/corpus.jsonl", 300, "corpus.jsonl");
    workspace.head("data/queries.jsonl", 40, "q.jsonl");
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output store");
    workspace.runs("index -q --language en --corpus corpus.jsonl --doc-vectors --output index");
    workspace
}

const SPARSE: &str = "search -q --sparse index --queries q.jsonl";
const DENSE: &str = "search -q --dense store --model tiny-bert --queries q.jsonl";
const BOTH: &str = "search -q --sparse index --dense store --model tiny-bert --queries q.jsonl";

fn value(report: &Value, keys: &[&str]) -> f64 {
    keys.iter().fold(report, |value, key| &value[key]).as_f64().unwrap()
}

#[test]
fn one_pass_gives_the_run_that_fuse_does() {
    let workspace = workspace();
    // A question without any term of the index is only in the dense run, wherever it is in the file.
    let mut lines = workspace.lines("q.jsonl");
    for (at, id) in [(0, "first"), (20, "middle"), (42, "last")] {
        lines.insert(at, format!("{{\"_id\":\"{id}\",\"text\":\"zzyzx\"}}"));
    }
    workspace.write("q.jsonl", lines.join("\n") + "\n");
    workspace.runs(&format!("{SPARSE} --k 50 --output s.run"));
    workspace.runs(&format!("{DENSE} --k 50 --output d.run"));
    for flags in [
        "interpolate --alpha 0.37", "interpolate", "mr-tydi-script --weights 0.3,2", "rrf", "rrf --rrf-k 1",
        "z-score --missing zero", "combmnz", "borda", "mean --normalize min-max",
    ] {
        workspace.runs(&format!("fuse -q s.run d.run --k 60 --tag t --output f.run --method {flags}"));
        workspace.runs(&format!("{BOTH} --k 60 --fusion-depth 50 --tag t --output h.run --fusion {flags}"));
        assert_eq!(workspace.lines("h.run"), workspace.lines("f.run"), "{flags}");
        workspace.runs(&format!(
            "{BOTH} --threads 1 --k 60 --fusion-depth 50 --tag t --output h1.run --fusion {flags}"
        ));
        assert_eq!(workspace.read("h1.run"), workspace.read("h.run"), "{flags}");
    }
    // Vectors that were encoded before do as well as the model.
    workspace.runs("encode -q --model tiny-bert --queries q.jsonl --output vectors");
    let by_vectors = "search -q --sparse index --dense store --query-vectors vectors --queries q.jsonl";
    workspace.runs(&format!("{by_vectors} --k 60 --fusion-depth 50 --tag t --output v.run --fusion rrf"));
    workspace.runs("fuse -q s.run d.run --k 60 --tag t --output f.run --method rrf");
    assert_eq!(workspace.read("v.run"), workspace.read("f.run"));
    workspace.write("other.tsv", "unknown\twho\n");
    workspace
        .toller("search --sparse index --dense store --query-vectors vectors --queries other.tsv --output x --fusion rrf")
        .fails(1, &["there is no vector for query \"unknown\"", "hint: encode the same queries that are searched"]);
}

#[test]
fn an_index_may_leave_titles_out() {
    let workspace = Workspace::new();
    let line = "{\"id\":\"d1\",\"title\":\"The Nile\",\"text\":\"a river of Africa\"}\n";
    workspace.write("titled.jsonl", line);
    workspace.write("untitled.jsonl", line.replace("title", "other"));
    for name in ["titled", "untitled"] {
        workspace.runs(&format!("index -q --language en --corpus {name}.jsonl --output {name}"));
    }
    let index = "index -q --language en --corpus titled.jsonl --output no-title";
    workspace.runs(&format!("{index} --no-title"));
    let tokens =
        |index: &str| workspace.runs(&format!("index-info {index} --json")).json()["tokens"].as_u64();
    assert_eq!(tokens("no-title"), tokens("untitled"));
    assert!(tokens("no-title") < tokens("titled"));
    let manifest: Value = serde_json::from_slice(&workspace.read("no-title/manifest.json")).unwrap();
    assert_eq!(manifest["source"]["title_separator"], Value::Null);
    workspace.toller(index).fails(1, &["titles are left out"]);
    workspace.toller(&format!("{index} --no-title --title-separator x")).fails(2, &["cannot be used with"]);
}

#[test]
fn collections_are_matched_by_identifier() {
    let workspace = workspace();
    workspace.runs(&format!("{BOTH} --fusion rrf --output same.run"));
    let lines = workspace.lines("corpus.jsonl");
    let backwards: Vec<String> = lines.iter().rev().cloned().collect();
    workspace.write("backwards.jsonl", backwards.join("\n") + "\n");
    workspace.runs("encode -q --overwrite --model tiny-bert --corpus backwards.jsonl --output store");
    let done = workspace.runs(&format!("{BOTH} --fusion rrf --output other.run"));
    assert_eq!(done.stderr, "");
    let documents = |run: &str| {
        let of_query = |(query, hits): (String, Vec<(String, f32)>)| {
            hits.into_iter().map(move |(document, _)| (query.clone(), document))
        };
        workspace.hits(run).into_iter().flat_map(of_query).collect::<BTreeSet<(String, String)>>()
    };
    assert_eq!(documents("other.run"), documents("same.run"));

    workspace.write("fewer.jsonl", lines[1..].join("\n") + "\n");
    workspace.runs("encode -q --overwrite --model tiny-bert --corpus fewer.jsonl --output store");
    workspace.toller(&format!("{BOTH} --fusion rrf --output x.run")).fails(
        1,
        &[
            "the collections differ: 300 documents in the first and 299",
            "is in the first alone",
            "--different-collections",
        ],
    );
    workspace
        .toller("serve --port 0 --sparse index --dense store")
        .fails(1, &["the collections differ", "hint: make the store and the index of the same collection"]);
    workspace.runs(&format!("{BOTH} --fusion rrf --different-collections --output x.run"));
    // The document that is missing from the store is found only by its words.
    let found = documents("x.run");
    let (missing, others): (Vec<_>, Vec<_>) = documents("same.run")
        .into_iter()
        .filter(|pair| !found.contains(pair))
        .partition(|(_, doc)| doc == "s0");
    assert!(!missing.is_empty() && others.is_empty(), "{others:?}");
    assert!(found.iter().any(|(_, doc)| doc == "s0"));
}

#[test]
fn filters_leave_the_same_documents_out_of_both() {
    let workspace = workspace();
    let all = |flags: &str| {
        workspace.runs(&format!("{SPARSE} --output s.run {flags}"));
        workspace.lines("s.run")
    };
    let everything = all("");
    let column = |line: &String, at: usize| line.split(' ').nth(at).unwrap().to_owned();
    let (query, best) = (column(&everything[0], 0), column(&everything[0], 2));
    workspace.write("out.tsv", format!("{query}\t{best}\n"));
    workspace.write("in.txt", "s1\ns2\ns3\ns4\ns5\n");
    let pairs = |lines: &[String]| -> Vec<(String, String)> {
        lines.iter().map(|line| (column(line, 0), column(line, 2))).collect()
    };
    let mut expected = pairs(&everything);
    expected.remove(0);
    assert_eq!(pairs(&all("--exclude out.tsv")), expected);
    // The depth is filled from below.
    let shallow = all("--exclude out.tsv --k 2");
    assert_eq!(pairs(&shallow)[..2], expected[..2]);
    let allowed = ["s1", "s2", "s3", "s4", "s5"];
    expected.retain(|(_, doc)| allowed.contains(&doc.as_str()));
    assert_eq!(pairs(&all("--exclude out.tsv --allow in.txt")), expected);
    workspace.runs(&format!("{BOTH} --fusion rrf --allow in.txt --exclude out.tsv --output h.run"));
    for (found, doc) in pairs(&workspace.lines("h.run")) {
        assert!(allowed.contains(&doc.as_str()) && (found != query || doc != best), "{found} {doc}");
    }
}

#[test]
fn rankers_and_feedback_differ_and_are_deterministic() {
    let workspace = workspace();
    let mut runs: Vec<Vec<String>> = Vec::new();
    for flags in [
        "",
        "--k1 1.2 --b 0.75",
        "--ranker bm25-robertson",
        "--ranker ql",
        "--ranker ql --mu 100",
        "--ranker ql-jm",
        "--ranker ql-jm --lambda 0.5",
        "--exact-lengths",
        "--rm3",
        "--rm3 --rm3-fb-terms 20 --rm3-fb-docs 5 --rm3-original-query-weight 0.8",
        "--rocchio",
        "--rocchio --rocchio-use-negative --rocchio-gamma 0.5",
        "--ranker ql --rm3 --rm3-no-term-filter",
    ] {
        workspace.runs(&format!("{SPARSE} --output r.run {flags}"));
        let run = workspace.lines("r.run");
        workspace.runs(&format!("{SPARSE} --threads 1 --output r.run {flags}"));
        assert_eq!(workspace.lines("r.run"), run, "{flags}");
        assert!(!runs.contains(&run), "{flags} makes no difference");
        runs.push(run);
    }
    workspace.runs(&format!("{SPARSE} --output r.run --rm3 --rm3-original-query-weight 1 --k 5"));
    // The whole weight on the query is not feedback.
    let best = |run: &str| -> Vec<(String, String)> {
        let hits = workspace.hits::<f32>(run).into_iter();
        hits.map(|(query, hits)| (query, hits[0].0.clone())).collect()
    };
    workspace.write("plain.run", runs[0].join("\n"));
    assert_eq!(best("r.run"), best("plain.run"));
}

#[test]
fn tuning_bm25_finds_what_searches_do() {
    let workspace = workspace();
    let tune = "tune bm25 --sparse index --queries q.jsonl --qrels data/qrels.txt -m RR@10 --k1 0.4,0.9,1.4 --b 0.2:0.8:0.3";
    let done = workspace.runs(&format!("{tune} --json --plot map.svg"));
    done.says(["judged queries are not in --queries and count as zero"]);
    let tuned = done.json();
    let points = tuned["points"].as_array().unwrap();
    assert_eq!(points.len(), 9);
    let mut best: Option<(f64, f64, f64)> = None;
    for point in points {
        let [k1, b, found] = ["k1", "b", "value"].map(|key| value(point, &[key]));
        workspace.runs(&format!("{SPARSE} --k1 {k1} --b {b} --output p.run"));
        workspace
            .runs("eval -q --qrels data/qrels.txt -m RR@10 --format csv p.run")
            .prints([&format!("all,{found}\n")]);
        if best.is_none_or(|(_, _, highest)| found > highest) {
            best = Some((k1, b, found));
        }
    }
    let found = ["k1", "b", "value"].map(|key| value(&tuned, &["best", key]));
    assert_eq!(Some((found[0], found[1], found[2])), best);
    assert!(String::from_utf8(workspace.read("map.svg")).unwrap().contains("the highest"));
    let table = workspace.runs(tune).stdout;
    assert_eq!((table.lines().count(), table.matches('*').count()), (4, 1), "{table}");
    let csv = workspace.runs(&format!("{tune} --queries-format jsonl --format csv")).stdout;
    assert_eq!((csv.lines().count(), csv.lines().next()), (10, Some("k1,b,RR@10")), "{csv}");
    workspace.toller(&format!("{tune} --queries-format tsv")).fails(1, &["--queries-format"]);
}

#[test]
fn negatives_are_mined_from_an_index() {
    let workspace = workspace();
    let mine = "mine -q --qrels data/qrels.txt --queries q.jsonl --choose top --depth 1:20 --format pairs";
    workspace.runs(&format!("{mine} --sparse index --output index.tsv"));
    workspace.runs(&format!("{SPARSE} --k 20 --output s.run"));
    workspace.runs(&format!("{mine} --run s.run --output run.tsv"));
    assert_eq!(workspace.lines("index.tsv"), workspace.lines("run.tsv"));
    assert!(workspace.lines("index.tsv").len() > 100);
    workspace.runs(&format!("{mine} --sparse index --ranker ql --output ql.tsv"));
    assert_ne!(workspace.lines("ql.tsv"), workspace.lines("run.tsv"));
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let workspace = workspace();
    workspace.runs("index -q --language en --corpus corpus.jsonl --output plain");
    let tune = "tune bm25 --sparse index --qrels data/qrels.txt --queries q.jsonl";
    workspace.write("bad.txt", [&workspace.read("data/qrels.txt")[..], b"q1 0 c\n"].concat());
    let with_bad_line = tune.replace("data/qrels.txt", "bad.txt");
    workspace.toller(&with_bad_line).fails(1, &["bad.txt, line", "--skip-bad-lines"]);
    workspace.toller(&format!("{with_bad_line} --skip-bad-lines --k1 0.9 --b 0.4")).succeeds();
    workspace.write("other.jsonl", "{\"_id\": \"elsewhere\", \"text\": \"a text\"}\n");
    workspace.runs("index -q --language en --corpus other.jsonl --output other");
    let other = tune.replace("--sparse index", "--sparse other");
    for (code, command, says) in [
        (2, "search --queries q.jsonl --output x", "give --dense STORE, --sparse DIR, or both"),
        (2, "search --sparse index --output x", "give --queries"),
        (2, &format!("{BOTH} --output x"), "--fusion interpolate"),
        (2, &format!("{SPARSE} --output x --fusion rrf"), "give --sparse and --dense"),
        (2, &format!("{SPARSE} --output x --alpha 1"), "give --fusion"),
        (2, &format!("{SPARSE} --output x --model tiny-bert"), "--dense"),
        (2, &format!("{SPARSE} --output x --mu 10"), "--mu has no meaning for --ranker bm25"),
        (2, &format!("{SPARSE} --output x --ranker ql --k1 1"), "--k1 has no meaning for --ranker ql"),
        (2, &format!("{SPARSE} --output x --b 1.5"), "b is 1.5"),
        (2, &format!("{SPARSE} --output x --k1 -1"), "k1 is -1"),
        (2, &format!("{SPARSE} --output x --k1 NaN"), "k1 is NaN"),
        (2, &format!("{SPARSE} --output x --ranker ql --mu 0"), "mu is 0"),
        (2, &format!("{SPARSE} --output x --rm3 --rocchio"), "cannot be used with"),
        (2, &format!("{SPARSE} --output x --rm3-fb-docs 5"), "--rm3"),
        (2, &format!("{SPARSE} --output x --rm3 --rm3-original-query-weight 2"), "from 0 to 1"),
        (2, &format!("{SPARSE} --output index/x"), "would overwrite the input index"),
        (2, &format!("{DENSE} --output x --k1 1"), "--sparse"),
        (2, &format!("{BOTH} --output x --fusion rrf --weights 1"), "1 weight for 2 lists"),
        (2, &format!("{BOTH} --output x --fusion best"), "no method of fusion is named"),
        (1, "search --sparse store --queries q.jsonl --output x", "is not an inverted index"),
        (1, "search --sparse store --queries q.jsonl --output x", "give a store of vectors as --dense"),
        (
            1,
            "search --dense index --model tiny-bert --queries q.jsonl --output x",
            "an inverted index is searched with --sparse",
        ),
        (1, "search --sparse nothing --queries q.jsonl --output x", "cannot open nothing"),
        (2, &format!("{SPARSE} --output x --max-length 20"), "--max-length is for dense search"),
        (2, &format!("{SPARSE} --output x --prompt query:"), "--prompt is for dense search"),
        (2, &format!("{SPARSE} --output x --dtype int8"), "--dtype is for dense search"),
        (1, "search --sparse plain --rm3 --queries q.jsonl --output x", "toller index --doc-vectors"),
        (1, "search --sparse plain --rocchio --queries q.jsonl --output x", "toller index --doc-vectors"),
        (2, &format!("{tune} --b 0:2:1"), "b is 2, which is not a number from 0 to 1"),
        (2, &format!("{tune} --k1 0.9,1e10"), "give --k1 values from 0 to 1e9"),
        (2, &format!("{tune} --k1 -1:1:0.5"), "numbers from 0 up"),
        (1, &other, "none of the judged documents is in the index"),
        (2, &format!("{tune} --k1 a"), "FROM:TO:STEP"),
        (1, "tune bm25 --sparse store --qrels data/qrels.txt --queries q.jsonl", "is not an inverted index"),
        (2, "mine --qrels data/qrels.txt --output x", "give --sparse DIR or --run RUN"),
        (2, "mine --qrels data/qrels.txt --sparse index --output x", "give --queries"),
        (
            2,
            "mine --qrels data/qrels.txt --sparse index --run x --queries q.jsonl --output x",
            "cannot be used with",
        ),
    ] {
        workspace.toller(command).fails(code, &[says]);
        assert!(!workspace.path("x").exists(), "{command}");
    }
}

#[test]
fn queries_without_hits_are_named() {
    let workspace = workspace();
    workspace.write("some.tsv", "stops\tof the\nfound\twas\nunknown\tqqqzzz\nmore\tthe\nstill\tmore\n");
    workspace.write("corpus.tsv", "1\tit was\n2\tit is\n");
    workspace.runs("index -q --analyzer whitespace --corpus corpus.tsv --output few");
    let search = "search --sparse few --queries some.tsv --json --output few.run";
    let finished = workspace.runs(search);
    assert!(
        finished.stderr.contains("4 queries have no hits, and no line in the run: stops, unknown, more, ...")
    );
    assert_eq!(finished.json()["queries_without_hits"], 4);
    assert_eq!(workspace.lines("few.run").len(), 1);
}

#[test]
fn feedback_finds_what_anserinis_does() {
    let workspace = Workspace::with_xquad();
    workspace.runs("index -q --language en --corpus data/corpus.jsonl --doc-vectors --output index");
    let expected: Value = serde_json::from_slice(&std::fs::read(fixture("feedback.json")).unwrap()).unwrap();
    for (flags, queries) in expected.as_object().unwrap() {
        let search = "search -q --sparse index --queries data/queries.jsonl --k 3 --output p.run";
        workspace.runs(&format!("{search} {flags}"));
        let run = workspace.hits::<f64>("p.run");
        let mut as_close = 0;
        for (query, hits) in queries.as_object().unwrap() {
            let found = &run[query];
            assert_eq!(found[0].0, hits[0][0].as_str().unwrap(), "{flags} {query}");
            let close = |at: usize| {
                let score = hits[at][1].as_f64().unwrap();
                (found[at].1 - score).abs() <= 2e-4 * score
            };
            as_close += usize::from((0..3).all(close));
        }
        // Where terms of equal weight compete for the last place in a query, Anserini takes others.
        assert!(queries.as_object().unwrap().len() == 60 && as_close >= 58, "{flags}: {as_close}");
    }
}

#[test]
fn a_filter_that_leaves_out_most_terms_is_noticed() {
    let workspace = Workspace::new();
    let text = |from: u32| (from..from + 8).filter_map(char::from_u32).collect::<String>();
    let line = |doc: u32| format!("d{doc}\t{}\n", text(0x4e00 + 8 * doc));
    workspace.write("zh.tsv", (0..40).map(line).collect::<String>());
    workspace.write("q.tsv", format!("q\t{}\n", text(0x4e00)));
    workspace.runs("index -q --language zh --corpus zh.tsv --doc-vectors --output index");
    let search = "search -q --sparse index --queries q.tsv --output zh.run";
    workspace
        .runs(&format!("{search} --rm3"))
        .says(["warning: RM3 leaves out 100 % of the terms of this index", "--rm3-no-term-filter"]);
    for flags in ["", "--rm3 --rm3-no-term-filter", "--rocchio"] {
        assert_eq!(workspace.runs(&format!("{search} {flags}")).stderr, "", "{flags}");
    }
}
