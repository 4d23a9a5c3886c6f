//! Two encoders in two directories as one dual encoder, on Chinese text: ERNIE as DuReader-retrieval and
//! RocketQA use it.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use toller_testing::shared;

use crate::support::{Workspace, copy_folder};

#[test]
fn titles_are_given_to_the_towers_as_asked_for() {
    let workspace = Workspace::new();
    workspace.add_fixture("ernie-towers");
    let expected: Value = serde_json::from_slice(&workspace.read("ernie-towers/expected.json")).unwrap();
    let model =
        "--model ernie-towers/passage --query-model ernie-towers/query --pooling cls --max-length 40 --quiet";
    for mode in ["join", "sep", "pair"] {
        workspace.runs(&format!(
            "encode {model} --corpus ernie-towers/corpus.jsonl --title-mode {mode} --output {mode}"
        ));
        workspace.runs(&format!(
            "search {model} --dense {mode} --queries ernie-towers/queries.tsv --k 7 --output {mode}.txt"
        ));
        let run = workspace.hits::<f64>(&format!("{mode}.txt"));
        let expected = expected[mode].as_object().unwrap();
        assert_eq!(run.len(), expected.len());
        for (query, hits) in &run {
            assert_eq!(hits.len(), 7);
            for (document, score) in hits {
                let in_float64 = expected[query][document].as_f64().unwrap();
                // Relative to the vectors' lengths; the largest product is a lower bound of them.
                assert!(
                    (score - in_float64).abs() < 1e-4,
                    "{mode} {query} {document}: {score}, {in_float64}"
                );
            }
        }
    }
    // The modes are three different encodings.
    assert_ne!(workspace.read("join.txt"), workspace.read("sep.txt"));
    assert_ne!(workspace.read("sep.txt"), workspace.read("pair.txt"));
}

#[test]
fn a_store_knows_both_towers_and_its_title_mode() {
    let workspace = Workspace::new();
    workspace.add_fixture("ernie-towers");
    let towers =
        "--model ernie-towers/passage --query-model ernie-towers/query --pooling cls --max-length 40";
    let encode = "--corpus ernie-towers/corpus.jsonl --output store --title-mode pair";
    workspace.runs(&format!("encode {towers} {encode}"));
    for other in [
        "--model ernie-towers/passage",
        "--model ernie-towers/query",
        "--model ernie-towers/query --query-model ernie-towers/passage",
    ] {
        let search = format!(
            "search {other} --pooling cls --max-length 40 --dense store --queries ernie-towers/queries.tsv --output run.txt"
        );
        let hint = "search with `--model ernie-towers/passage` and `--query-model ernie-towers/query`";
        workspace.toller(&search).fails(1, &["hint:", hint]);
    }
    // Queries that were encoded before, with the same pair of towers.
    workspace.runs(&format!("encode {towers} --queries ernie-towers/queries.tsv --output queries"));
    workspace.runs("search --dense store --query-vectors queries --k 7 --output vectors.txt");
    workspace.runs(&format!(
        "search {towers} --dense store --queries ernie-towers/queries.tsv --k 7 --output texts.txt"
    ));
    assert_eq!(workspace.read("vectors.txt"), workspace.read("texts.txt"));
    // Without --model, both towers are those of the store.
    let search =
        "search --pooling cls --max-length 40 --dense store --queries ernie-towers/queries.tsv --k 7";
    let ran = workspace.runs(&format!("{search} --output own.txt"));
    let said = "the model of the store, ernie-towers/passage with ernie-towers/query for queries";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(workspace.read("own.txt"), workspace.read("texts.txt"));
    let sep = encode.replace("pair", "sep");
    workspace.toller(&format!("encode {towers} {sep}")).fails(1, &["encoding.title_mode", "pair", "sep"]);
    workspace
        .toller(&format!("encode {towers} {encode} --title-separator :"))
        .fails(2, &["--title-separator", "--title-mode"]);
}

/// DPR's own code gives titles apart from texts.
#[test]
fn dpr_gets_titles_as_in_its_training() {
    let Some(dpr) = shared("golden/mbert-dpr/ctx_encoder") else { return };
    let workspace = Workspace::new();
    workspace.write("titled.jsonl", "{\"_id\": \"a\", \"title\": \"Ducks\", \"text\": \"ducks\"}\n");
    let encode = format!("encode --model {} --corpus titled.jsonl --output", dpr.display());
    workspace.runs(&format!("{encode} own"));
    workspace.runs(&format!("{encode} sep --title-mode sep"));
    workspace.runs(&format!("{encode} join --title-mode join"));
    let vectors = |store: &str| workspace.read(&format!("{store}/shard-00000.safetensors"));
    assert!(vectors("own") == vectors("sep") && vectors("own") != vectors("join"));
    // What only joined titles have does not join them by itself.
    for (flag, what) in [("--title-separator :", "separator"), ("--context-field text", "context")] {
        let says = ["titles that are not joined with their texts have no", what, "--title-mode join"];
        workspace.toller(&format!("{encode} other {flag}")).fails(2, &says);
    }
}

/// Scales the last quarter of a model's weights: another model of the same shape.
fn perturb(model: &Path) {
    let path = model.join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let header = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    let weights = &mut bytes[header..];
    let from = weights.len() / 16 * 12;
    for weight in weights[from..].chunks_exact_mut(4) {
        let scaled = f32::from_le_bytes(weight[..].try_into().unwrap()) * 1.25;
        weight.copy_from_slice(&scaled.to_le_bytes());
    }
    // The copy of a file that may only be read may only be read.
    fs::remove_file(&path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn two_ernies_search_cmrc_2018() {
    let (Some(ernie), Some(cmrc)) = (shared("golden/ernie-cls"), shared("data/cmrc2018/dev.json.gz")) else {
        return;
    };
    let workspace = Workspace::new();
    for tower in ["passages", "queries"] {
        copy_folder(&ernie, &workspace.path(tower));
    }
    perturb(&workspace.path("queries"));

    let mut text = String::new();
    let file = fs::File::open(cmrc).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let data: Value = serde_json::from_str(&text).unwrap();
    let paragraphs = || {
        let articles = data["data"].as_array().unwrap().iter();
        articles.flat_map(|article| article["paragraphs"].as_array().unwrap())
    };
    let lines = |values: Vec<Value>| values.iter().map(|value| format!("{value}\n")).collect::<String>();
    let corpus: Vec<Value> =
        paragraphs().map(|paragraph| json!({"_id": paragraph["id"], "text": paragraph["context"]})).collect();
    let questions: Vec<Value> = paragraphs()
        .flat_map(|paragraph| paragraph["qas"].as_array().unwrap())
        .map(|question| json!({"_id": question["id"], "text": question["question"]}))
        .collect();
    let (passages, queries) = (corpus.len(), questions.len());
    assert!(passages > 800 && queries > 3000, "{passages} passages, {queries} questions");
    workspace.write("corpus.jsonl", lines(corpus));
    workspace.write("queries.jsonl", lines(questions));

    let towers = "--model passages --query-model queries --quiet";
    workspace.runs(&format!("encode {towers} --corpus corpus.jsonl --max-length 384 --output store"));
    workspace.runs(&format!(
        "search {towers} --dense store --queries queries.jsonl --max-length 32 --k 50 --output run.txt"
    ));
    let run = workspace.hits::<f64>("run.txt");
    assert_eq!(run.len(), queries);
    assert!(run.values().all(|hits| hits.len() == 50));
    // The queries' tower is the one that was asked for: the passages' own gives other scores.
    workspace.runs("encode --model passages --corpus corpus.jsonl --quiet --output tied");
    workspace.runs("search --model passages --dense tied --queries queries.jsonl --max-length 32 --k 50 --quiet --output tied.txt");
    assert_ne!(run, workspace.hits::<f64>("tied.txt"));
}
