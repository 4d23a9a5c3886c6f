//! The recipes that train the papers' models, whole, on toy data: every step of every recipe is carried out.

use std::fs;

use serde_json::{Value, json};
use toller_testing::repository;

use crate::support::{Finished, Workspace};

const WORDS: [&str; 12] =
    ["city", "years", "states", "time", "world", "house", "river", "king", "school", "music", "south", "war"];

/// Passage `row` has its own word, and the words of its neighbours.
fn passage(row: usize) -> String {
    let word = |step: usize| WORDS[(row + step) % WORDS.len()];
    format!("in the {} of the {} and {}", word(0), word(1), word(2))
}

/// A workspace with a tiny model.
fn workspace(folders: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    for folder in folders {
        fs::create_dir_all(workspace.path(folder)).unwrap();
    }
    workspace
}

/// The lines that `of` makes of each row.
fn rows(of: impl Fn(usize) -> String) -> String {
    (0..WORDS.len()).map(|row| of(row) + "\n").collect()
}

/// Carries out a recipe. Tiny models do not reach the published figures, which is the only way to fail.
fn carry_out(workspace: &Workspace, recipe: &str, settings: &[&str], cells: &[&str]) -> Vec<(String, Value)> {
    let mut command = workspace.command("run --json");
    command.arg(repository("configs").join(format!("{recipe}.toml")));
    command.args(settings.iter().flat_map(|value| ["--set", value]));
    command.args(cells.iter().flat_map(|value| ["--cell", value]));
    let finished = Finished::new(command.output().unwrap());
    assert!(matches!(finished.code, Some(0 | 1)), "{recipe}: {}", finished.stderr);
    assert!(!finished.stdout.is_empty(), "{recipe}: {}", finished.stderr);
    let report = finished.json();
    for step in report["steps"].as_array().unwrap() {
        assert_eq!(step["state"], "done", "{recipe}: {step}\n{}", finished.stderr);
    }
    let measures = report["measures"].as_array().unwrap().iter();
    let measured: Vec<(String, Value)> =
        measures.map(|one| (one["run"].as_str().unwrap().to_owned(), one["measured"].clone())).collect();
    assert!(measured.iter().all(|(_, value)| value.is_number()), "{recipe}: {measured:?}");
    // What is done is not done again.
    let again = Finished::new(command.output().unwrap());
    again.says(["nothing to do"]);
    measured
}

/// DuReader's files: passages by rows, queries with their answers, judgments, and the published examples.
fn dureader() -> Workspace {
    let workspace = workspace(&["data/passages"]);
    workspace.write("data/passages/part-00", rows(|row| format!("-\t\t{}\t0", passage(row))));
    let question = |row: usize| {
        let paragraph = json!({"paragraph_id": row.to_string(), "paragraph_text": passage(row)});
        json!({"question_id": format!("q{row}"), "question": WORDS[row], "answer_paragraphs": [paragraph]})
            .to_string()
    };
    let english = |row: usize| format!("q{row}\tthe {}", WORDS[row]);
    let judgment = |row: usize| format!("q{row} 0 {row} 1");
    for (name, lines) in [
        ("train.json", rows(question)),
        ("dev.json", rows(question)),
        ("train.qrels.txt", rows(judgment)),
        ("dev.qrels.txt", rows(judgment)),
        ("train.zh.tsv", rows(english)),
        ("train.en.tsv", rows(english)),
        ("test.zh.tsv", rows(english)),
        ("test.en.tsv", rows(english)),
        ("train.zh.qrels.txt", rows(judgment)),
        // Fewer queries are translated.
        ("train.en.qrels.txt", rows(judgment).lines().take(8).map(|line| format!("{line}\n")).collect()),
        ("test.qrels.txt", rows(judgment)),
        (
            "dual.train.tsv",
            rows(|row| format!("{}\t\t{}\t\t{}\t0", WORDS[row], passage(row), passage(row + 5))),
        ),
        (
            "cross.train.tsv",
            rows(|row| format!("{0}\t\t{1}\t1\n{0}\t\t{2}\t0", WORDS[row], passage(row), passage(row + 5))),
        ),
    ] {
        workspace.write(&format!("data/{name}"), lines);
    }
    workspace
}

const TINY: [&str; 4] = ["data=data", "start=tiny-bert", "query-length=12", "length=24"];

#[test]
fn dureaders_three_models() {
    let workspace = dureader();
    let sizes = ["dual-batch=4", "dual-epochs=1", "cross-batch=6", "cross-epochs=1"];
    let measured = carry_out(&workspace, "dureader-retrieval-train", &[TINY, sizes].concat(), &[]);
    assert_eq!(measured.len(), 15, "five systems, three measures");
    let work = "dureader-retrieval-train.work";
    // Four negatives a positive, and each once.
    let negatives = workspace.lines(&format!("{work}/cross-de.tsv"));
    assert_eq!(negatives.iter().filter(|line| line.ends_with("\t1")).count(), WORDS.len());
    assert_eq!(negatives.iter().filter(|line| line.ends_with("\t0")).count(), 4 * WORDS.len());
    // CE w/ DE Neg went on from CE w/ BM25 Neg.
    let run: String = workspace.lines(&format!("{work}/cross-de/run.json")).concat();
    assert!(!run.is_empty() && workspace.path(&format!("{work}/dual/question_encoder/config.json")).exists());
}

#[test]
fn dureaders_ensemble_chooses_what_is_judged() {
    let workspace = dureader();
    let models = ["ernie=tiny-bert", "bert=tiny-bert", "roberta=tiny-bert", "macbert=tiny-bert"];
    let sizes = ["dual-batch=4", "dual-epochs=1", "cross-batch=6", "cross-epochs=1"];
    let settings = [&["data=data", "query-length=12", "length=24"][..], &models, &sizes].concat();
    carry_out(&workspace, "dureader-ensemble", &settings, &[]);
    let packages = fs::read_dir(workspace.path("dureader-ensemble.work/packages")).unwrap().count();
    assert!(packages > 0);
}

#[test]
fn dureaders_models_for_english_queries() {
    let workspace = dureader();
    let sizes = ["batch-size=4", "epochs=1"];
    let measured = carry_out(&workspace, "dureader-cross-lingual", &[&TINY[..], &sizes].concat(), &[]);
    assert_eq!(measured.len(), 6, "the paper has four, and the others are measured, too");
}

#[test]
fn a_dual_encoder_is_fine_tuned_on_another_domain() {
    let workspace = workspace(&["data/cmedqa", "data/ccovid-news"]);
    for collection in ["cmedqa", "ccovid-news"] {
        let document = |row: usize| json!({"_id": format!("d{row}"), "text": passage(row)}).to_string();
        workspace.write(&format!("data/{collection}/corpus.jsonl"), rows(document));
        for split in ["", "train."] {
            let queries = rows(|row| format!("q{row}\tthe {}", WORDS[row]));
            workspace.write(&format!("data/{collection}/{split}queries.tsv"), queries);
            let judgments = rows(|row| format!("q{row} 0 d{row} 1"));
            workspace.write(&format!("data/{collection}/{split}qrels.txt"), judgments);
        }
    }
    let settings =
        ["data=data", "dual=tiny-bert", "query-length=12", "length=24", "batch-size=4", "epochs=1"];
    let measured = carry_out(&workspace, "dureader-ood", &settings, &[]);
    assert_eq!(measured.len(), 18, "three systems, two collections, three measures");
}

#[test]
fn t2rankings_models() {
    let workspace = workspace(&["data"]);
    let with_header = |header: &str, lines: String| format!("{header}\n{lines}");
    workspace.write(
        "data/collection.tsv",
        with_header("pid\ttext", rows(|row| format!("{row}\t{}", passage(row)))),
    );
    for split in ["train", "dev"] {
        let queries = rows(|row| format!("{row}\tthe {}", WORDS[row]));
        workspace.write(&format!("data/queries.{split}.tsv"), with_header("qid\ttext", queries));
        let pairs = with_header("qid\tpid", rows(|row| format!("{row}\t{row}")));
        workspace.write(&format!("data/qrels.retrieval.{split}.tsv"), pairs);
    }
    workspace.write("data/qrels.dev.tsv", rows(|row| format!("{row} 0 {row} 3")));
    let sizes = ["dual-batch=4", "dual-epochs=1", "prefix-tokens=3", "prefix-epochs=1", "depth=5"];
    let cross = ["cross-length=40", "cross-negatives=2", "cross-batch=4", "cross-epochs=1"];
    let measured = carry_out(&workspace, "t2ranking-train", &[&TINY[..], &sizes, &cross].concat(), &[]);
    assert_eq!(measured.len(), 15);
    let work = "t2ranking-train.work";
    assert!(workspace.path(&format!("{work}/dptdr/adapter_config.json")).exists(), "a prefix");
    let negatives = workspace.lines(&format!("{work}/train/mined.tsv"));
    assert_eq!((negatives[0].as_str(), negatives.len()), ("qid\tpid\tindex\tscore", 1 + 12 * 11));
}

/// Questions of three relations about the same words, passages, and DPR's examples.
fn entity_questions() -> Workspace {
    let workspace = workspace(&["data/test", "data/train"]);
    let line = |row: usize| format!("{row}\t{}\tThe {}", passage(row), WORDS[row]);
    workspace.write("passages.tsv", format!("id\ttext\ttitle\n{}", rows(line)));
    let questions = |start: &str| {
        let of = |row: usize| json!({"question": format!("{start} {}", WORDS[row]), "answers": [WORDS[(row + 1) % 12]]});
        json!((0..WORDS.len()).map(of).collect::<Vec<_>>()).to_string()
    };
    for relation in ["P19", "P159", "P170"] {
        workspace.write(&format!("data/test/{relation}.test.json"), questions("the"));
        workspace.write(&format!("data/train/{relation}.train.json"), questions("the"));
        workspace.write(&format!("data/train/{relation}.similar.train.json"), questions("of"));
    }
    let context = |row: usize| json!([{"title": "", "text": passage(row), "passage_id": row.to_string()}]);
    let example = |row: usize| {
        json!({
            "question": WORDS[row], "answers": [WORDS[row]], "positive_ctxs": context(row),
            "hard_negative_ctxs": context(row + 5), "negative_ctxs": [],
        })
    };
    let examples: Vec<Value> = (0..WORDS.len()).map(example).collect();
    workspace.write("nq-train.json", json!(examples).to_string());
    workspace.write("nq-test.csv", rows(|row| format!("the {}\t['{}']", WORDS[row], WORDS[row])));
    workspace
}

const SMALL: [&str; 6] =
    ["data=data", "passages=passages.tsv", "length=24", "batch-size=4", "epochs=1", "warmup=0"];

#[test]
fn entity_questions_fine_tuned_on_a_relation() {
    let workspace = entity_questions();
    let models = ["train=data/train", "passage-model=tiny-bert", "question-model=tiny-bert"];
    let settings = [&SMALL[..], &models].concat();
    let measured = carry_out(&workspace, "entity-questions-train", &settings, &["relation=P159"]);
    assert_eq!(measured.len(), 6);
    // One encoder is as it was.
    let work = "entity-questions-train.work";
    let weights =
        |model: &str, tower: &str| workspace.read(&format!("{work}/P159/{model}/{tower}/model.safetensors"));
    let (both, only_q, only_p) = ("ft", "ft-only-q", "ft-only-p");
    assert!(weights(only_q, "ctx_encoder") != weights(both, "ctx_encoder"));
    assert!(weights(only_p, "question_encoder") == weights(only_q, "ctx_encoder"), "the model before");
    let first = workspace.lines(&format!("{work}/P159/train.jsonl")).remove(0);
    let first: Value = serde_json::from_str(&first).unwrap();
    for (side, has_answer) in [("positive_passages", true), ("negative_passages", false)] {
        let passages = first[side].as_array().unwrap();
        assert_eq!(passages.len(), 1, "{side}");
        assert_eq!(passages[0]["text"].as_str().unwrap().contains(WORDS[1]), has_answer, "{side}");
    }
}

#[test]
fn entity_questions_with_and_without_natural_questions() {
    let workspace = entity_questions();
    let models = ["train=data/train", "passage-model=tiny-bert", "question-model=tiny-bert"];
    let settings = [&SMALL[..], &models, &["nq-train=nq-train.json", "nq-test=nq-test.csv"]].concat();
    let measured = carry_out(&workspace, "entity-questions-augmented", &settings, &["relation=P19"]);
    assert_eq!(measured.len(), 6, "two systems on the relation, on all, and on Natural Questions");
}

#[test]
fn entity_questions_over_fixed_passages() {
    let workspace = entity_questions();
    fs::create_dir(workspace.path("paq")).unwrap();
    let question =
        |row: usize| json!({"_id": format!("paq{row}"), "text": WORDS[row], "answers": [WORDS[row]]});
    workspace.write("paq/queries.train.jsonl", rows(|row| question(row).to_string()));
    workspace.write("paq/qrels.train.txt", rows(|row| format!("paq{row} 0 {row} 1")));
    for relation in ["P159", "P19", "P170"] {
        fs::remove_file(workspace.path(&format!("data/train/{relation}.similar.train.json"))).unwrap();
    }
    let questions = workspace.read("data/test/P19.test.json");
    let recipe = fs::read_to_string(repository("configs/entity-questions-specialized.toml")).unwrap();
    let relations = recipe.lines().find(|line| line.starts_with("relation = [")).unwrap();
    let relations: Vec<&str> = relations.split('"').skip(1).step_by(2).collect();
    assert_eq!(relations.len(), 24);
    for relation in relations {
        workspace.write(&format!("data/test/{relation}.test.json"), &questions);
        workspace.write(&format!("data/train/{relation}.train.json"), &questions);
    }
    let own = ["start=tiny-bert", "scratch-epochs=1", "nq-train=nq-train.json", "paq=paq"];
    let settings = [&SMALL[..], &own].concat();
    let one =
        carry_out(&workspace, "entity-questions-specialized", &settings, &["relation=P170", "source=paq"]);
    assert_eq!(one.len(), 1);
    // The passages' encoder comes from the first training.
    let work = "entity-questions-specialized.work";
    let weights =
        |model: &str, tower: &str| workspace.read(&format!("{work}/{model}/{tower}/model.safetensors"));
    assert!(weights("dpr-paq", "ctx_encoder") == weights("P170/dpr-paq", "ctx_encoder"));
    assert!(weights("dpr-paq", "question_encoder") != weights("P170/dpr-paq", "question_encoder"));
    fs::remove_dir_all(workspace.path(work)).unwrap();
    let all = carry_out(&workspace, "entity-questions-specialized", &settings, &["source=nq"]);
    assert_eq!(all.len(), 3 * 25, "three systems on 24 relations, and their means");
}

#[test]
fn cmrc_2018_is_learned_from_another_set() {
    let workspace = workspace(&[]);
    let paragraph = |row: usize| {
        let answer = json!([{"text": WORDS[row], "answer_start": 7}]);
        let question =
            json!({"id": format!("q{row}"), "question": format!("the {}", WORDS[row]), "answers": answer});
        json!({"title": WORDS[row], "paragraphs": [{"context": passage(row), "qas": [question]}]})
    };
    let set = json!({"version": "1", "data": (0..WORDS.len()).map(paragraph).collect::<Vec<_>>()});
    workspace.write("set.json", set.to_string());
    let settings = ["train=set.json", "dev=set.json", "model=tiny-bert", "length=24", "batch-size=4"];
    carry_out(&workspace, "cmrc2018-train", &settings, &[]);
    let report: Value = serde_json::from_slice(&workspace.read("cmrc2018-train.work/measures.json")).unwrap();
    assert_eq!(report["runs"].as_array().unwrap().len(), 2, "before and after");
}

#[test]
fn mdpr_is_dpr_from_another_model() {
    let workspace = entity_questions();
    let settings =
        ["train=nq-train.json", "start=tiny-bert", "length=24", "batch-size=4", "epochs=1", "warmup=0"];
    carry_out(&workspace, "mdpr-train", &settings, &[]);
    let tower = "mdpr-train.work/mdpr/ctx_encoder";
    workspace.runs(&format!(
        "encode --model {tower} --title-mode sep --corpus passages.tsv --output mdpr-store -q"
    ));
}
