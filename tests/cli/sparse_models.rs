//! Learned sparse models (SPLADE) from outside: impacts are indexed, and texts are searched for.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::support::{Workspace, copy_folder, fixture};

/// None of its weights is where two impacts meet, so that all CPUs round them alike.
const MODEL: &str = "sparse-models/bert-untied";

const SEARCH: &str = "search -q --sparse index --k 5 --tag t --overwrite";

/// The impacts of a text by term.
type Impacts = BTreeMap<String, f64>;

/// The texts of a fixture that have words, with impacts of a role by the weights of sentence-transformers.
fn texts_of(model: &str, role: &str) -> Vec<(String, Impacts)> {
    let lines = fs::read_to_string(fixture(&format!("{model}/expected-sparse.jsonl"))).unwrap();
    let impact = |(term, weight): (String, f64)| {
        let exact = 100.0 * weight;
        assert!(((exact - exact.floor()) - 0.5).abs() > 0.01, "{term}: {weight} is where impacts meet");
        (term, exact.round())
    };
    let lines = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let weights: BTreeMap<String, f64> = serde_json::from_value(line[role]["weights"].clone()).unwrap();
        (line["text"].as_str().unwrap().to_owned(), weights.into_iter().map(impact).collect())
    });
    lines.filter(|(text, _)| !text.is_empty()).collect()
}

/// The texts of [`MODEL`], whose impacts do not depend on the role.
fn texts() -> Vec<(String, Impacts)> {
    texts_of(MODEL, "document")
}

/// The texts as JSON lines, whose identifiers are numbers after a letter.
fn lines(letter: &str) -> String {
    let texts = texts().into_iter().enumerate();
    texts
        .map(|(at, (text, _))| json!({"_id": format!("{letter}{at}"), "text": text}).to_string() + "\n")
        .collect()
}

/// The model, its texts as passages and as queries, and an index of the passages' impacts.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.add_fixture(MODEL);
    workspace.write("corpus.jsonl", lines("d"));
    workspace.write("q.jsonl", lines("q"));
    workspace.runs(&format!("encode -q --model {MODEL} --corpus corpus.jsonl --output store"));
    workspace.runs("index -q --vectors store --output index");
    workspace
}

/// The hits of each query: the sums over common terms of the products of impacts.
fn expected() -> BTreeMap<String, Vec<(String, f64)>> {
    let texts = texts();
    let hits_of = |(at, (_, query)): (usize, &(String, Impacts))| {
        let score = |(at, (_, passage)): (usize, &(String, Impacts))| {
            let products = query.iter().filter_map(|(term, weight)| Some(weight * passage.get(term)?));
            (format!("d{at}"), products.sum::<f64>())
        };
        let mut hits: Vec<_> =
            texts.iter().enumerate().map(score).filter(|(_, score)| *score > 0.0).collect();
        hits.sort_by(|a, b| b.1.total_cmp(&a.1));
        (format!("q{at}"), hits)
    };
    texts.iter().enumerate().map(hits_of).collect()
}

#[test]
fn scores_are_sums_of_products_of_impacts() {
    let workspace = workspace();
    let said = workspace.runs("search --sparse index --queries q.jsonl --k 5 --tag t --output texts.run");
    said.says([&format!("queries are weighed by the model of the index, {MODEL}")]);
    let expected = expected();
    assert_eq!(workspace.hits::<f64>("texts.run"), expected);

    // The impacts of queries, from a store and from JSON.
    workspace.runs(&format!("encode -q --model {MODEL} --queries q.jsonl --output impacts"));
    workspace.runs("store export -q impacts --output vectors.jsonl");
    for queries in ["impacts", "vectors.jsonl", "q.jsonl --threads 1", "q.jsonl --device cpu"] {
        let done = workspace.runs(&format!("{SEARCH} --queries {queries} --output run"));
        assert_eq!(done.stderr, "", "{queries}");
        assert!(workspace.read("run") == workspace.read("texts.run"), "{queries}");
    }
    let done = workspace.runs("search --sparse index --queries impacts --output run --overwrite");
    assert!(!done.stderr.contains("weighed by"), "{}", done.stderr);

    let bench = workspace.runs("bench sparse --sparse index --queries q.jsonl --seconds 0 --json").json();
    let hits: usize = expected.values().map(Vec::len).sum();
    assert_eq!(bench["figures"][0]["hits"], hits);
}

#[test]
fn typed_words_are_searched_for_and_explained() {
    let workspace = workspace();
    let texts = texts();
    let at = texts.iter().position(|(text, _)| text.starts_with("city city")).unwrap();
    let (text, impacts) = &texts[at];
    let found = workspace.runs(&format!("search {text} --sparse index --explain --json")).json();
    let hits = found["hits"].as_array().unwrap();
    let hit = |hit: &Value| (hit["doc_id"].as_str().unwrap().to_owned(), hit["score"].as_f64().unwrap());
    assert_eq!(hits.iter().map(hit).collect::<Vec<_>>(), expected()[&format!("q{at}")]);
    for hit in hits {
        let of_passage = &texts[hit["doc_id"].as_str().unwrap()[1..].parse::<usize>().unwrap()].1;
        let mut sum = 0.0;
        for term in hit["explanation"]["terms"].as_array().unwrap() {
            let name = term["term"].as_str().unwrap();
            let [weight, frequency, score] =
                ["weight", "frequency", "score"].map(|key| term[key].as_f64().unwrap());
            assert_eq!(weight, impacts[name], "{name}");
            assert_eq!(frequency, of_passage.get(name).copied().unwrap_or(0.0), "{name}");
            assert_eq!(score, weight * frequency, "{name}");
            sum += score;
        }
        assert_eq!(Some(sum), hit["score"].as_f64());
    }
    let shown = workspace.runs(&format!("search {text} --sparse index --k 1 --corpus corpus.jsonl"));
    shown.prints([&hits[0]["doc_id"].as_str().unwrap()]);
}

#[test]
fn an_index_names_its_model() {
    let workspace = workspace();
    let info = workspace.runs("index-info index").stdout;
    let line = info.lines().find(|line| line.starts_with("model ")).unwrap();
    assert!(line.contains(&format!(" {MODEL} (fingerprint ")), "{line}");
    assert_eq!(workspace.runs("index-info index --json").json()["model"], MODEL);
    let index = "index --vectors store --output index";
    workspace.runs(index).says(["index is complete; nothing to do"]);

    // The same model elsewhere makes the same impacts, so nothing is to do.
    workspace.runs(&format!("{SEARCH} --queries q.jsonl --output own.run"));
    copy_folder(&workspace.path(MODEL), &workspace.path("elsewhere"));
    workspace.runs("encode -q --model elsewhere --corpus corpus.jsonl --output same");
    workspace.runs("index --vectors same --output index").says(["nothing to do"]);
    workspace.runs(&format!("{SEARCH} --queries q.jsonl --sparse-model elsewhere --output run"));
    assert!(workspace.read("run") == workspace.read("own.run"));
    // An index without a model takes one for queries.
    workspace.runs("store export -q store --output vectors.jsonl");
    workspace.runs("index -q --impact --corpus vectors.jsonl --output plain");
    assert_eq!(workspace.runs("index-info plain --json").json()["model"], Value::Null);
    let search = SEARCH.replace("--sparse index", "--sparse plain");
    workspace.runs(&format!("{search} --queries q.jsonl --sparse-model elsewhere --output run"));
    assert!(workspace.read("run") == workspace.read("own.run"));

    // What another model makes does not fit.
    workspace.add_fixture("sparse-models/bert");
    workspace.runs("encode -q --model sparse-models/bert --queries q.jsonl --output others");
    workspace.runs("encode -q --model sparse-models/bert --corpus corpus.jsonl --output other-store");
    workspace.runs("index -q --language en --corpus corpus.jsonl --output words");
    let cases: [(i32, &str, &[&str]); 8] = [
        (
            1,
            "search --sparse index --queries q.jsonl --sparse-model sparse-models/bert --output x",
            &[
                "the impacts of the index index were made by another model: by sparse-models/bert-untied (fingerprint",
                "not by sparse-models/bert (fingerprint",
                "hint: name the index's own with --sparse-model, or leave it out",
            ],
        ),
        (
            1,
            "search --sparse index --queries q.jsonl --sparse-model tiny-bert --output x",
            &["the model makes dense vectors, and not weights of terms", "hint: take a sparse encoder"],
        ),
        (
            1,
            "search --sparse plain --queries q.jsonl --sparse-model tiny-bert --output x",
            &["the model makes dense vectors", "hint: "],
        ),
        (
            1,
            "search --sparse words --queries q.jsonl --sparse-model elsewhere --output x",
            &["the index words holds no impacts", "hint: "],
        ),
        (
            2,
            "search --sparse index --queries others --output x",
            &[
                "the impacts of others were made by sparse-models/bert, and those of the index by \
                 sparse-models/bert-untied",
                "hint: encode the queries with the model of the index",
            ],
        ),
        (
            2,
            "search --sparse index --queries q.jsonl --model elsewhere --output x",
            &["--model is for dense search", "hint: give --dense STORE", "--sparse-model"],
        ),
        (
            2,
            "search --dense store --queries q.jsonl --sparse-model elsewhere --output x",
            &["--sparse <DIR>"],
        ),
        (
            1,
            "index --vectors other-store --output index",
            &["the index index is of something else", "hint: give another --output"],
        ),
    ];
    for (code, command, says) in cases {
        workspace.toller(command).fails(code, says);
        assert!(!workspace.path("x").exists(), "{command}");
    }
}

#[test]
fn a_plain_directory_makes_the_same_impacts() {
    let workspace = workspace();
    workspace.add_fixture("sparse-models/bert");
    workspace.add_fixture("sparse-models/bert-plain");
    for (name, flags) in [("bert", ""), ("bert-plain", "--pooling splade")] {
        let encode = format!("encode -q --model sparse-models/{name} {flags}");
        // The plain directory does not state the most tokens of a text.
        workspace.runs(&format!("{encode} --max-length 24 --corpus corpus.jsonl --output {name}"));
        workspace.runs(&format!("index -q --vectors {name} --output {name}-index"));
        workspace.head("q.jsonl", 2, "short.jsonl");
        let search = SEARCH.replace("--sparse index", &format!("--sparse {name}-index"));
        workspace.runs(&format!("{search} --queries short.jsonl --output {name}.run"));
    }
    assert!(workspace.read("bert-plain.run") == workspace.read("bert.run"));
    assert_eq!(workspace.hits::<f64>("bert.run").len(), 2);
}

#[test]
fn queries_may_have_a_model_of_their_own() {
    let workspace = workspace();
    workspace.add_fixture("sparse-models/bert-plain");
    workspace.add_fixture("sparse-models/router");
    workspace.runs(&format!("{SEARCH} --queries q.jsonl --output own.run"));
    let pair = format!("{MODEL} --query-model sparse-models/bert-plain --pooling splade");
    let named = format!("{MODEL} with sparse-models/bert-plain for queries");
    for (models, named) in [(&*pair, &*named), ("sparse-models/router", "sparse-models/router")] {
        let encode = format!("encode -q --overwrite --model {models}");
        workspace.runs(&format!("{encode} --corpus corpus.jsonl --output passages"));
        workspace.runs("index -q --overwrite --vectors passages --output pair");
        let said = workspace.runs("search city --sparse pair");
        said.says([&format!("queries are weighed by the model of the index, {named}")]);
        workspace.runs(&format!("{encode} --queries q.jsonl --output impacts"));
        let search = SEARCH.replace("--sparse index", "--sparse pair");
        workspace.runs(&format!("{search} --queries q.jsonl --output texts.run"));
        workspace.runs(&format!("{search} --queries impacts --output impacts.run"));
        assert!(!workspace.read("texts.run").is_empty(), "{models}");
        assert!(workspace.read("texts.run") == workspace.read("impacts.run"), "{models}");
        assert!(workspace.read("texts.run") != workspace.read("own.run"), "{models}");
    }
    // The router's, which are fixed.
    workspace.runs("store export -q impacts --output impacts.jsonl");
    for (line, (_, impacts)) in
        workspace.lines("impacts.jsonl").iter().zip(texts_of("sparse-models/router", "query"))
    {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::from_value::<Impacts>(line["vector"].clone()).unwrap(), impacts);
    }
}

#[test]
fn a_model_that_is_gone_is_named() {
    let workspace = workspace();
    workspace.runs(&format!("{SEARCH} --queries q.jsonl --output own.run"));
    workspace.runs(&format!("encode -q --model {MODEL} --queries q.jsonl --output impacts"));
    workspace.runs("store export -q impacts --output vectors.jsonl");
    workspace.write("qrels.txt", "q0 0 d0 1\n");
    fs::rename(workspace.path(MODEL), workspace.path("moved")).unwrap();
    let says: &[&str] = &[
        "queries are encoded by the model of the index, sparse-models/bert-untied, which is not on this machine",
        "hint: name the model with --sparse-model",
    ];
    for command in [
        "search --sparse index --queries q.jsonl --output x",
        "search city --sparse index",
        "mine --sparse index --queries q.jsonl --qrels qrels.txt --format pairs --output x",
        "bench sparse --sparse index --queries q.jsonl",
        "serve --sparse index --port 0",
    ] {
        workspace.toller(command).fails(1, says);
        assert!(!workspace.path("x").exists(), "{command}");
    }
    for queries in ["impacts", "vectors.jsonl", "q.jsonl --sparse-model moved"] {
        workspace.runs(&format!("{SEARCH} --queries {queries} --output run"));
        assert!(workspace.read("run") == workspace.read("own.run"), "{queries}");
    }
}

#[test]
fn texts_are_searched_for_in_all_ways() {
    let workspace = workspace();
    workspace.add_fixture("cross-encoders/mpnet");
    workspace.runs(&format!("{SEARCH} --queries q.jsonl --output sparse.run"));
    let same = |of_one: &str, of_two: &str| {
        assert!(workspace.read(of_one) == workspace.read(of_two), "{of_one} and {of_two} differ");
    };

    // A hybrid is the fusion of both runs.
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output vectors");
    workspace.runs("search -q --dense vectors --queries q.jsonl --k 5 --output dense.run");
    let hybrid = format!("{SEARCH} --queries q.jsonl --dense vectors --fusion-depth 5 --output hybrid.run");
    for flags in ["rrf", "interpolate --alpha 0.3"] {
        workspace.runs(&format!(
            "fuse -q sparse.run dense.run --k 5 --tag t --overwrite --output fused.run --method {flags}"
        ));
        workspace.runs(&format!("{hybrid} --fusion {flags}"));
        same("hybrid.run", "fused.run");
    }
    let words = workspace.runs("search the city -q --sparse index --dense vectors --fusion rrf --k 3");
    assert_eq!(words.stdout.lines().count(), 3, "{}", words.stdout);

    // Reranking reads the texts of queries.
    let rerank = "--corpus corpus.jsonl --truncation longest_first --depth 3 --k 5 --output";
    let model = "cross-encoders/mpnet";
    workspace
        .runs(&format!("rerank -q --run sparse.run --queries q.jsonl --model {model} {rerank} reranked.run"));
    workspace.runs(&format!(
        "retrieve -q --sparse index --queries q.jsonl --rerank {model} {rerank} retrieved.run"
    ));
    same("retrieved.run", "reranked.run");

    let qrels = texts().iter().enumerate().map(|(at, _)| format!("q{at} 0 d{at} 1\n")).collect::<String>();
    workspace.write("qrels.txt", qrels);
    let mine = "mine -q --qrels qrels.txt --queries q.jsonl --choose top --depth 1:5 --format pairs";
    workspace.runs(&format!("{mine} --sparse index --output of-index.tsv"));
    workspace.runs(&format!("{mine} --run sparse.run --output of-run.tsv"));
    same("of-index.tsv", "of-run.tsv");
    assert!(workspace.lines("of-index.tsv").len() >= 5);
}

/// A model that reads texts would take impacts for words.
#[test]
fn impacts_of_queries_are_not_read_as_texts() {
    let workspace = workspace();
    workspace.add_fixture("cross-encoders/mpnet");
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output vectors");
    workspace.runs(&format!("encode -q --model {MODEL} --queries q.jsonl --output impacts"));
    workspace.runs("store export -q impacts --output vectors.jsonl");
    for queries in ["impacts", "vectors.jsonl"] {
        for command in [
            "search --sparse index --dense vectors --fusion rrf",
            "retrieve --sparse index --rerank cross-encoders/mpnet --corpus corpus.jsonl --truncation longest_first",
        ] {
            let refused = workspace.toller(&format!("{command} --queries {queries} --output x"));
            assert_ne!(refused.code, Some(0), "{command} --queries {queries}");
            refused.says(["hint: "]);
            assert!(!workspace.path("x").exists(), "{command} --queries {queries}");
        }
    }
}

#[test]
fn what_impacts_do_not_have_is_refused() {
    let workspace = workspace();
    workspace.runs(&format!("encode -q --model {MODEL} --queries q.jsonl --output impacts"));
    workspace.runs("encode -q --model tiny-bert --corpus corpus.jsonl --output vectors");
    workspace.write("data.jsonl", "{\"query\": \"city\", \"positive\": \"the city\"}\n");
    workspace.write("qrels.txt", "q0 0 d0 1\n");
    let index = "index --vectors store --output x";
    let search = "search --sparse index --queries q.jsonl --output x";
    let encode = format!("encode --model {MODEL} --corpus corpus.jsonl --output x");
    let of_dense = "is for dense vectors, and this model gives weights to the terms of its vocabulary";
    for (code, command, says) in [
        (1, "index --vectors vectors --output x".to_owned(), "holds vectors, not impacts of terms\nhint: "),
        (1, "index --vectors corpus.jsonl --output x".to_owned(), "corpus.jsonl is not a store"),
        (
            2,
            "index --vectors impacts --output x".to_owned(),
            "impacts holds queries, and passages are indexed",
        ),
        (
            2,
            "index --vectors impacts --output x".to_owned(),
            "hint: encode the collection: `toller encode --corpus`",
        ),
        (2, "index --output x".to_owned(), "--vectors <STORE>"),
        (2, format!("{index} --corpus corpus.jsonl"), "cannot be used with"),
        (2, format!("{index} --impact"), "cannot be used with"),
        (2, format!("{index} --language en"), "cannot be used with"),
        (2, format!("{index} --analyzer whitespace"), "cannot be used with"),
        (2, format!("{index} --doc-vectors"), "cannot be used with"),
        (2, format!("{index} --no-title"), "cannot be used with"),
        (2, format!("{index} --skip-bad-lines"), "cannot be used with"),
        (1, format!("{search} --ranker bm25"), "only the ranker impact scores these"),
        (1, format!("{search} --rm3"), "queries are not expanded by these"),
        (2, format!("{search} --max-length 4"), "--max-length is for dense search"),
        (2, search.replace("q.jsonl", "store"), "store holds passages, and not queries"),
        (2, search.replace("q.jsonl", "vectors"), "vectors is a store, and queries are read as texts"),
        (
            1,
            "search --dense store --queries q.jsonl --output x".to_owned(),
            "holds impacts of terms, not vectors",
        ),
        (1, "search --dense store --queries q.jsonl --output x".to_owned(), "`toller index --vectors`"),
        (
            1,
            "tune bm25 --sparse index --queries q.jsonl --qrels qrels.txt".to_owned(),
            "only the ranker impact",
        ),
        (1, "serve --dense store --port 0".to_owned(), "holds impacts of terms, not vectors"),
        (
            1,
            format!("train dual --model {MODEL} --data data.jsonl --output x"),
            &format!("training {of_dense}"),
        ),
        (
            1,
            format!("train dual --model {MODEL} --pooling mean --data data.jsonl --output x"),
            "training a model with the module SpladePooling",
        ),
        (1, format!("{encode} --dim 8"), &format!("a number of dimensions {of_dense}")),
        (1, format!("{encode} --normalize-embeddings"), &format!("a scaling to unit length {of_dense}")),
        (1, encode.replace(MODEL, "tiny-bert --pooling splade"), "the model makes dense vectors"),
    ] {
        workspace.toller(&command).fails(code, &[says]);
        assert!(!workspace.path("x").exists(), "{command}");
    }
}
