//! The recipes that come with Toller: planned, and carried out on real or toy data.

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::json;
use toller_testing::{repository, shared};

use crate::recipes::{done, states};
use crate::support::{Finished, Workspace, gzip};

/// The recipes of the papers: those that cannot run here report what they need.
#[test]
fn the_recipes_that_come_with_toller_can_be_planned() {
    let workspace = Workspace::new();
    let folder = repository("configs");
    let mut recipes: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    recipes.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    recipes.retain(|path| !toller_recipe::is_of_figures(path).unwrap());
    recipes.sort();
    assert!(recipes.len() >= 15, "{recipes:?}");
    for recipe in recipes {
        let mut command = workspace.command("run --dry-run --json");
        let planned = Finished::new(command.arg(&recipe).output().unwrap()).succeeds();
        planned.says(["=... is not given: "]);
        assert!(states(&planned).iter().all(|(_, state)| state == "to do"), "{recipe:?}");
    }
}

/// Every cell of every matrix, by the command that `toller reproduce` shows for it.
#[test]
fn every_cell_of_the_recipes_that_come_with_toller_can_be_planned() {
    let workspace = Workspace::new();
    let mut command = workspace.command("reproduce --json --configs");
    let reproduction = Finished::new(command.arg(repository("configs")).output().unwrap()).succeeds().json();
    let experiments = reproduction["experiments"].as_array().unwrap();
    assert!(experiments.len() > 150, "{}", experiments.len());
    for experiment in experiments {
        let line = experiment["command"].as_str().unwrap();
        let words = shlex::split(line).unwrap();
        assert_eq!(words[..2], ["toller", "run"], "{line}");
        let mut command = workspace.command("run --dry-run --json");
        let planned = Finished::new(command.args(&words[2..]).output().unwrap()).succeeds();
        assert!(!states(&planned).is_empty(), "{line}");
        assert!(!experiment["missing"].as_array().unwrap().is_empty(), "{line}");
    }
}

/// A recipe of a paper, on its data, where these are: BM25 and query likelihood as Anserini's. Any dual
/// encoder does for the chain.
#[test]
fn cmrc_2018_comes_to_what_is_expected_and_is_done_once() {
    let Some(data) = shared("data/cmrc2018") else { return };
    let workspace = Workspace::new();
    let run = |flags: &str| {
        let mut command = workspace.command("run --json --set model=tiny-bert");
        command.args(flags.split_whitespace()).arg("--set").arg(format!("data={}", data.display()));
        Finished::new(command.arg(repository("configs/cmrc2018.toml")).output().unwrap())
    };
    let first = run("").succeeds();
    assert_eq!(done(&first), ["data", "index", "bm25", "ql", "encode", "dense", "hybrid", "eval"]);
    let measures = first.json()["measures"].as_array().unwrap().clone();
    assert!(measures.len() == 6 && measures.iter().all(|measure| measure["holds"] == true), "{measures:?}");
    assert_eq!(done(&run("").succeeds()), [""; 0]);
}

/// Three first stages, each reranked, as one recipe. A byte of a question that is another changes the
/// searches, not what is made of the paragraphs.
#[test]
fn cmrc_2018_is_reranked_and_what_depends_on_a_byte_is_done_again() {
    let Some(file) = shared("data/cmrc2018/dev.json.gz") else { return };
    let workspace = Workspace::new();
    workspace.add_fixture("cross-encoders/distilbert");
    fs::create_dir(workspace.path("cmrc")).unwrap();
    fs::copy(file, workspace.path("cmrc/dev.json.gz")).unwrap();
    // The cross-encoder is tiny in its length, too.
    let recipe = fs::read_to_string(repository("configs/cmrc2018-rerank.toml")).unwrap();
    let cut = "cache = \"scores\"\ntruncation = \"longest_first\"";
    workspace.write("recipe.toml", recipe.replace("cache = \"scores\"", cut));
    let run = || {
        let mut command = workspace.command(
            "run --json --set model=tiny-bert --set reranker=cross-encoders/distilbert --set depth=3 --set data=cmrc",
        );
        Finished::new(command.arg("recipe.toml").output().unwrap()).succeeds()
    };
    let first = run();
    let all = "data index bm25 bm25-reranked encode dense-reranked hybrid-reranked eval curve";
    assert_eq!(done(&first).join(" "), all);
    let measures = first.json()["measures"].as_array().unwrap().clone();
    assert!(measures.len() == 3 && measures.iter().all(|measure| measure["holds"] == true), "{measures:?}");
    assert_eq!(done(&run()), [""; 0]);

    let mut text = String::new();
    let compressed = workspace.read("cmrc/dev.json.gz");
    GzDecoder::new(compressed.as_slice()).read_to_string(&mut text).unwrap();
    let place = text.find("\"question\": \"").unwrap() + "\"question\": \"".len();
    text.insert(place, '?');
    workspace.write("cmrc/dev.json.gz", gzip(text.as_bytes()));
    let again = done(&run());
    assert!(again.contains(&"bm25".to_owned()) && again.contains(&"hybrid-reranked".to_owned()), "{again:?}");
    assert!(!again.contains(&"index".to_owned()) && !again.contains(&"encode".to_owned()), "{again:?}");
}

/// A token classifier is trained, and cuts documents at every threshold.
#[test]
fn the_passages_of_t2ranking_are_made_at_toy_size() {
    let workspace = Workspace::new();
    let article = "{\"segments\": [\"the city in the years\", \"of the United States\"]}\n";
    workspace.write("articles.jsonl", article.repeat(4));
    workspace.write("documents.jsonl", "{\"_id\": \"d\", \"text\": \"in the city of the years\"}\n");
    let mut command = workspace.command(
        "run --json --set model=tiny-bert --set articles=articles.jsonl --set dev-articles=articles.jsonl \
         --set documents=documents.jsonl --set batch-size=2 --set length=12",
    );
    let recipe = repository("configs/t2ranking-segmentation.toml");
    let finished = Finished::new(command.arg(recipe).output().unwrap()).succeeds();
    assert_eq!(done(&finished), ["train", "segment"]);
    let work = "t2ranking-segmentation.work";
    assert_eq!(workspace.lines(&format!("{work}/passages.txt")).len(), 10, "a row for each threshold");
    let lowest = workspace.lines(&format!("{work}/passages/sigma-0.1.jsonl"));
    assert_eq!(lowest.len(), 6, "a score of about one half is above 0.1: {lowest:?}");
    assert_eq!(workspace.lines(&format!("{work}/passages/sigma-0.9.jsonl")).len(), 1);
}

/// The builder's folder is what the recipe of Mr. TyDi reads.
#[test]
fn mr_tydi_is_measured_as_it_was_built() {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path("published/collection")).unwrap();
    let document =
        |id: &str, title: &str, text: &str| json!({"id": id, "contents": format!("{title}\n\n{text}")});
    let documents = [document("1#0", "Oslo", "mji wa Norwe"), document("2#0", "Roma", "mji wa Italia")];
    let lines: String = documents.iter().map(|line| format!("{line}\n")).collect();
    workspace.write("published/collection/docs.jsonl", lines);
    for split in ["dev", "test"] {
        workspace.write(&format!("published/topic.{split}.tsv"), "q1\tmji Norwe\n");
        workspace.write(&format!("published/qrels.{split}.txt"), "q1 Q0 1#0 1\n");
    }
    workspace.runs("data mrtydi published --output data/sw");
    let flags = "--set data=data --cell language=sw --cell system=bm25";
    assert_eq!(measured(&workspace, "mr-tydi", flags), [1.0, 1.0]);
}

/// T2Ranking's mean goes over all queries: those without a relevant passage count as 0.
#[test]
fn t2ranking_is_measured_over_all_queries() {
    let workspace = Workspace::new();
    workspace.write("collection.tsv", "pid\ttext\n1\tthe city\n2\tthe river\n");
    workspace.write("queries.dev.tsv", "qid\ttext\n1\tcity\n2\triver\n");
    workspace.write("qrels.dev.tsv", "1 0 1 3\n1 0 2 0\n2 0 2 1\n");
    assert_eq!(measured(&workspace, "t2ranking", "--set data=. --cell retriever=bm25"), [0.5, 1.0, 1.0]);
}

/// What a recipe of this repository measures on toy data, on which no published figure holds.
fn measured(workspace: &Workspace, recipe: &str, flags: &str) -> Vec<f64> {
    let mut command = workspace.command("run --json");
    command.args(flags.split(' ')).arg(repository("configs").join(format!("{recipe}.toml")));
    let finished = Finished::new(command.output().unwrap());
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let report = finished.json();
    let measures = report["measures"].as_array().unwrap().iter();
    measures.map(|measure| measure["measured"].as_f64().unwrap()).collect()
}

/// DPR's encoders know only token types 0.
#[test]
fn recipes_encode_passages_of_dpr_as_dpr_does() {
    let mut found = 0;
    for file in fs::read_dir(repository("configs")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for step in text.split("\n[").filter(|step| step.contains("command = \"encode\"")) {
            if step.contains("dpr-ctx_encoder") {
                assert!(step.contains("title-mode = \"sep\""), "{step}");
                found += 1;
            }
        }
    }
    assert!(found >= 4, "{found}");
}
