//! `--json`: every result is as docs/json.schema.json says, with every key described, and errors are JSON.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use toller_testing::ObjectServer;

use crate::support::{Finished, Workspace};

const SCHEMA: &str = include_str!("../../docs/json.schema.json");

/// Commands on small input, in this order. The first word is the name of the result in the schema; without
/// it, the command only prepares the next ones.
const COMMANDS: &[(&str, &str)] = &[
    ("index", "index --corpus c.jsonl --language en --doc-vectors --output idx"),
    ("index-info", "index-info idx --term dogs"),
    ("analyze", "analyze --language en dogs"),
    ("encode", "encode --model tiny-bert --corpus c.jsonl --output st --codes int8"),
    ("encode", "encode --model tiny-bert --queries q.tsv --output qs"),
    ("search", "search --sparse idx --queries q.tsv --k 5 --output s.run"),
    ("search", "search --dense st --query-vectors qs --scan int8 --k 5 --output d.run"),
    (
        "search",
        "search --sparse idx --dense st --model tiny-bert --queries q.tsv --fusion rrf --k 5 --output h.run",
    ),
    ("search", "search --dense st --query-vectors qs --k 5 --shard 1/2 --output p.run"),
    ("search", "search --dense st --query-vectors qs --k 5 --shard 2/2 --output p.run"),
    ("merge", "merge p.run.part-00001-of-00002 p.run.part-00002-of-00002 --output p.run"),
    (
        "slurm-encode",
        "slurm encode --shards 2 --output e.sh -- --model tiny-bert --corpus c.jsonl --output parts",
    ),
    ("slurm-search", "slurm search --shards 2 --output s.sh -- --dense st --query-vectors qs --output p.run"),
    ("search-words", "search dog sea --sparse idx --explain --corpus c.jsonl"),
    ("search-words", "search dog --dense st --model tiny-bert"),
    (
        "rerank",
        "rerank --model cross-encoders/mpnet --run s.run --corpus c.jsonl --queries q.tsv --output r.run",
    ),
    (
        "retrieve",
        "retrieve --sparse idx --queries q.tsv --rerank cross-encoders/mpnet --corpus c.jsonl --output t.run",
    ),
    ("fuse", "fuse s.run d.run --method interpolate --output f.run"),
    ("eval", "eval s.run d.run --qrels qrels.txt"),
    ("eval", "eval s.run d.run --qrels qrels.txt --format json --per-query --groups g.tsv --significance"),
    ("eval", "eval s.run --qrels qrels.txt --qrels other.txt -m num_ret"),
    ("compare", "compare s.run d.run --qrels qrels.txt --tests t,randomization,bootstrap,wilcoxon,tukey"),
    ("compare", "compare s.run d.run --qrels qrels.txt --baseline s.run --equivalence 0.1"),
    ("accuracy", "accuracy s.run --queries answers.jsonl --corpus c.jsonl"),
    ("ranks", "ranks --dense st --query-vectors qs --qrels qrels.txt --document-groups docs.tsv"),
    ("depth", "depth s.run --qrels qrels.txt --oracle"),
    ("depth", "depth s.run --qrels qrels.txt --first-stage d.run --format json"),
    ("diff", "diff s.run d.run --qrels qrels.txt --queries q.tsv --corpus c.jsonl --show all"),
    ("diff-failures", "diff f.run --qrels other.txt --failed-at 1 --queries q.tsv --corpus c.jsonl"),
    ("diff-tally", "diff --tally sheet.csv"),
    ("diff-tally", "diff --tally pairs.csv"),
    ("report", "report s.run d.run --qrels qrels.txt --output page.html --data data"),
    ("annotate-packages", "annotate packages s.run --queries q.tsv --corpus c.jsonl --output packages"),
    ("annotate-agreement", "annotate agreement ann.csv bo.csv"),
    ("annotate-vote", "annotate vote ann.csv bo.csv --output voted.txt"),
    ("qrels-diff", "qrels diff qrels.txt other.txt"),
    ("qrels-answers", "qrels answers s.run --queries answers.jsonl --corpus c.jsonl --output judged"),
    ("mine", "mine --run s.run --qrels qrels.txt --output m.jsonl"),
    ("tune-bm25", "tune bm25 --sparse idx --queries q.tsv --qrels qrels.txt --k1 0.9,1.2 --b 0.4"),
    ("tune-alpha", "tune alpha s.run d.run --qrels qrels.txt --alphas 0:1:0.5 --format json"),
    ("store-export", "store export st --output v.npy"),
    ("store-import", "store import v.npy --output imported"),
    ("store-info", "store info st imported"),
    ("store-plot", "store plot st qs --perplexity 1 --output points.svg"),
    ("store-status", "store status st"),
    ("store-verify", "store verify st"),
    ("store-quantize", "store quantize imported"),
    ("bench-encode", "bench encode --model tiny-bert --lengths 8 --seconds 0"),
    ("bench-sparse", "bench sparse --sparse idx --queries q.tsv --k 2 --seconds 0"),
    (
        "bench-retrieve",
        "bench retrieve --sparse idx --queries q.tsv --rerank cross-encoders/mpnet --corpus c.jsonl --depth 2 \
         --seconds 0",
    ),
    ("bench-search", "bench search --vectors 200 --dim 8 --queries 1 --k 5 --seconds 0"),
    (
        "bench-rerank",
        "bench rerank --model cross-encoders/mpnet --depths 2 --queries 1 --passage-tokens 8 --seconds 0",
    ),
    ("convert", "convert paddle/rocketqa --output rocketqa"),
    ("run", "run recipe.toml"),
    ("run", "run recipe.toml --dry-run"),
    ("reproduce", "reproduce --configs . --output page.html"),
    ("data-reqa", "data reqa squad.json --output reqa"),
    ("data-squad", "data squad squad.json --output squad"),
    ("data-list", "data list"),
    ("data-list", "data list beir/scifact"),
    ("data-stats", "data stats --corpus c.jsonl --queries q.tsv --qrels qrels.txt --plot stats.svg"),
    ("data-beir", "data beir published --output beir"),
    ("data-msmarco", "data msmarco published --output msmarco"),
    ("data-mrtydi", "data mrtydi published --output mrtydi"),
    ("data-miracl", "data miracl published --output miracl"),
    ("data-bright", "data bright bright --output bright-built"),
    ("data-tevatron", "data tevatron published/train.jsonl --output tevatron"),
    ("data-psgs", "data psgs published/psgs_w100.tsv --output psgs"),
    ("data-tydi", "data tydi --train tydi.jsonl --dev tydi.jsonl --output tydi"),
    ("data-passages", "data passages c.jsonl --words 5 --stride 2 --output cut"),
    (
        "data-paq",
        "data paq paq.jsonl --corpus c.jsonl --train 1 --dev 0 --test 0 --min-questions 1 --output paq",
    ),
    ("data-entityquestions", "data entityquestions questions facts.jsonl --output eq"),
    ("data-dureader", "data dureader label dureader.jsonl --output dureader"),
    ("data-t2ranking", "data t2ranking uncertain s.run --low 0 --high 1 --output uncertain"),
    (
        "data-t2ranking",
        "data t2ranking segment c.jsonl --model token-classifiers/bert --sigma 0.5 --output segmented",
    ),
    (
        "train-dual",
        "train dual --model tiny-bert --queries q.tsv --corpus c.jsonl --qrels qrels.txt --batch-size 2 --output dual",
    ),
    (
        "train-cross",
        "train cross --model cross-encoders/distilbert --data triplets.jsonl --steps 1 --batch-size 2 --output cross",
    ),
    (
        "train-token",
        "train token --model tiny-bert --data marked.jsonl --dev-data marked.jsonl --batch-size 2 --output token",
    ),
    ("verify", "verify --model tiny-bert"),
    ("verify", "verify --model cross-encoders/mpnet"),
    ("models", "models"),
    ("models-name", "models all-MiniLM-L6-v2"),
    ("doctor", "doctor"),
];

const RECIPE: &str = r#"
title = "A recipe"

[steps.index]
command = "index"
corpus = "c.jsonl"
language = "en"
output = "index"

[steps.search]
command = "search"
sparse = "index"
queries = "q.tsv"
output = "s.run"

[steps.eval]
command = "eval"
runs = ["s.run"]
qrels = "qrels.txt"
measures = ["RR"]
format = "json"
stdout = "measures.json"

[[expect]]
report = "measures.json"
run = "s.run"
measures = { RR = 1.0 }
tolerance = 1.0
source = "the test"
"#;

const SQUAD: &str = r#"{"data": [{"title": "T", "paragraphs": [{"context": "One dog. Two seas.",
"sentence_breaks": [[0, 8], [9, 18]],
"qas": [{"id": "1", "question": "Who?", "answers": [{"answer_start": 4, "text": "dog"}]}]}]}]}"#;

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.add_fixture("cross-encoders/mpnet");
    workspace.add_fixture("cross-encoders/distilbert");
    workspace.add_fixture("token-classifiers/bert");
    workspace.add_fixture("paddle/rocketqa");
    workspace.add_fixture("bright");
    fs::create_dir(workspace.path("published")).unwrap();
    for (name, content) in [
        (
            "c.jsonl",
            "{\"_id\":\"d1\",\"title\":\"Dogs\",\"text\":\"a toller is a dog\"}\n\
             {\"_id\":\"d2\",\"text\":\"the sea is deep\"}\n{\"_id\":\"d3\",\"text\":\"dog and sea\"}\n",
        ),
        ("q.tsv", "q1\tdog\nq2\tsea\nq3\twhat is deep\n"),
        ("qrels.txt", "q1 0 d1 1\nq2 0 d2 2\nq3 0 d2 1\n"),
        ("other.txt", "q1 0 d1 1\nq2 0 d3 1\nq3 0 d9 1\n"),
        ("answers.jsonl", "{\"_id\":\"q1\",\"text\":\"dog\",\"answers\":[\"toller\"]}\n"),
        (
            "triplets.jsonl",
            "{\"anchor\":\"dog\",\"positive\":\"a dog\",\"negative\":\"the sea\"}\n\
             {\"anchor\":\"sea\",\"positive\":\"the sea\",\"negative\":\"a dog\"}\n",
        ),
        (
            "marked.jsonl",
            "{\"segments\":[\"a dog\",\"the sea\"]}\n{\"text\":\"sea dog\",\"boundaries\":[3,7]}\n",
        ),
        ("docs.tsv", "d1\ta\nd2\ta\nd3\tb\n"),
        ("g.tsv", "q1\tone\nq2\ttwo\nq3\ttwo\n"),
        ("sheet.csv", "query_id,gain,category\nq1,-0.5,synonym\nq2,0.1,\n"),
        ("pairs.csv", "query_id,doc_id,category\nq1,d1,synonym\n"),
        ("ann.csv", "query_id,doc_id,grade\nq1,d1,1\nq2,d2,0\n"),
        ("bo.csv", "query_id,doc_id,grade\nq1,d1,1\nq2,d2,1\n"),
        ("recipe.toml", RECIPE),
        ("squad.json", SQUAD),
        ("published/corpus.jsonl", "{\"_id\":\"d1\",\"text\":\"dog\"}\n"),
        ("published/collection.tsv", "d1\tdog\nd2\tsea\n"),
        ("published/docs.jsonl", "{\"id\":\"d1\",\"contents\":\"dog\"}\n"),
        ("published/docs-0.jsonl", "{\"docid\":\"d1\",\"title\":\"t\",\"text\":\"dog\"}\n"),
        ("published/psgs_w100.tsv", "id\ttext\ttitle\n1\tdog\tDogs\n"),
        (
            "published/train.jsonl",
            "{\"query_id\":\"q1\",\"query\":\"dog\",\"positive_passages\":[{\"docid\":\"d1\"}]}\n",
        ),
        ("facts.jsonl", "{\"subject\":\"Ann\",\"relation\":\"P19\",\"object\":\"Oslo\"}\n"),
        ("paq.jsonl", "{\"question\":\"q\",\"answer\":\"a\",\"answers\":[{\"passage_id\":\"d1\"}]}\n"),
        (
            "dureader.jsonl",
            "{\"question_id\":1,\"question\":\"谁\",\"answers\":[\"狗\"],\
             \"documents\":[{\"title\":\"\",\"paragraphs\":[\"狗\"]}]}\n",
        ),
        (
            "tydi.jsonl",
            "{\"example_id\":1,\"language\":\"thai\",\"question_text\":\"q\",\"document_title\":\"t\",\
             \"document_url\":\"u\",\"document_plaintext\":\"dog\",\"passage_answer_candidates\":[\
             {\"plaintext_start_byte\":0,\"plaintext_end_byte\":3}],\"annotations\":[]}\n",
        ),
    ] {
        workspace.write(name, content);
    }
    workspace
}

#[test]
fn transfers_are_as_the_schema_says() {
    let workspace = workspace();
    let server = ObjectServer::start(&["bucket"]).unwrap();
    workspace.runs("encode -q --model tiny-bert --corpus c.jsonl --output st");
    let mut checker = Checker::new();
    for (name, command) in
        [("store-push", "push st s3://bucket/st"), ("store-pull", "pull s3://bucket/st copy")]
    {
        let mut command = workspace.command(&format!("store {command} --json -q"));
        let result = Finished::new(command.envs(server.variables()).output().unwrap()).succeeds().json();
        assert_eq!(checker.problem("closed", name, &result), None);
        assert_eq!((&result["files"], &result["moved_files"]), (&json!(1), &json!(1)));
        assert_eq!(result["moved_bytes"], result["bytes"]);
    }
}

/// The schema, and the same in which no object has keys that are not described.
struct Checker {
    schemas: Schemas,
    compiler: Compiler,
}

impl Checker {
    fn new() -> Self {
        let open: Value = serde_json::from_str(SCHEMA).unwrap();
        let mut closed = open.clone();
        close(&mut closed);
        let mut compiler = Compiler::new();
        compiler.add_resource("file:///open.json", open).unwrap();
        compiler.add_resource("file:///closed.json", closed).unwrap();
        Self { schemas: Schemas::new(), compiler }
    }

    fn definition(&mut self, schema: &str, name: &str) -> SchemaIndex {
        let place = format!("file:///{schema}.json#/$defs/{name}");
        self.compiler.compile(&place, &mut self.schemas).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn problem(&mut self, schema: &str, name: &str, value: &Value) -> Option<String> {
        let definition = self.definition(schema, name);
        self.schemas.validate(value, definition).err().map(|error| format!("{error:#}\n{value:#}"))
    }
}

/// Makes a key that is not described an error.
fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.get("properties").is_some_and(Value::is_object)
            && !object.contains_key("additionalProperties")
        {
            object.insert("additionalProperties".to_owned(), json!(false));
        }
        object.values_mut().for_each(close);
    } else if let Some(list) = schema.as_array_mut() {
        list.iter_mut().for_each(close);
    }
}

#[test]
fn every_result_is_as_the_schema_says() {
    let workspace = workspace();
    let mut checker = Checker::new();
    for (name, command) in COMMANDS {
        let json = if command.contains("--format json") { "" } else { "--json" };
        // Before the command: what follows `--` is for another command.
        let result = workspace.runs(&format!("{json} -q {command}")).json();
        assert_eq!(checker.problem("closed", name, &result), None, "toller {command}");
        let mut wrong = result;
        wrong.as_object_mut().unwrap().remove("schema_version");
        assert!(checker.problem("open", name, &wrong).is_some(), "{name} needs no version");
    }
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let results = schema["$defs"].as_object().unwrap().iter();
    let described: BTreeSet<&str> = results
        .filter(|(_, schema)| {
            schema["properties"]["schema_version"].is_object() || schema["$ref"].is_string()
        })
        .map(|(name, _)| name.as_str())
        .collect();
    let tested = COMMANDS.iter().map(|(name, _)| *name).chain(["error", "serve", "store-push", "store-pull"]);
    assert_eq!(described, tested.collect::<BTreeSet<_>>());
    for name in described {
        assert!(checker.problem("open", name, &json!({ "schema_version": "1" })).is_some(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_server_says_where_it_listens() {
    let workspace = workspace();
    workspace.runs("index --corpus c.jsonl --language en --output idx");
    let mut command = workspace.command("serve --sparse idx --port 0 --json --log none -q");
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut values = serde_json::Deserializer::from_reader(server.stdout.take().unwrap()).into_iter();
    let first: Value = values.next().unwrap().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(Checker::new().problem("closed", "serve", &first), None);
}

/// Every command that clap lists, as names of the schema.
#[test]
fn no_command_is_missing_from_the_schema() {
    let workspace = Workspace::new();
    let listed = |command: &str| -> Vec<String> {
        let help = workspace.runs(&format!("{command} --help")).stdout;
        let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let lines = lines.take_while(|line| !line.is_empty());
        let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut checked = 0;
    for command in listed("").iter().filter(|name| !["help", "completions"].contains(&name.as_str())) {
        let below = listed(command);
        let names: Vec<String> = match below.is_empty() {
            true => vec![command.clone()],
            false => {
                below.iter().filter(|name| *name != "help").map(|name| format!("{command}-{name}")).collect()
            }
        };
        for name in names {
            assert!(schema["$defs"][&name].is_object(), "docs/json.schema.json does not describe {name}");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}

/// The error on the last line of stderr, which is as the schema says.
#[track_caller]
fn error(found: &Finished, status: i32) -> Value {
    assert_eq!(found.code, Some(status), "{}", found.stderr);
    let error: Value = serde_json::from_str(found.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(Checker::new().problem("closed", "error", &error), None);
    error["error"].clone()
}

#[test]
fn errors_are_json_with_their_place_and_hint() {
    let workspace = workspace();
    workspace.write("twice.jsonl", "{\"_id\":\"a\",\"text\":\"one\"}\n{\"_id\":\"a\",\"text\":\"two\"}\n");
    let index = "index --language en --output new --json -q";
    let twice = workspace.toller(&format!("{index} --corpus twice.jsonl"));
    assert_eq!(twice.stdout, "");
    let twice = error(&twice, 1);
    assert_eq!(
        (&twice["kind"], &twice["file"], &twice["line"]),
        (&json!("failure"), &json!("twice.jsonl"), &json!(2))
    );
    assert!(twice["message"].as_str().unwrap().contains("duplicate id: found \"a\""), "{twice}");
    assert!(twice["hint"].as_str().unwrap().contains("pass --skip-bad-lines"), "{twice}");

    let missing = error(&workspace.toller(&format!("{index} --corpus none.jsonl")), 1);
    assert_eq!((&missing["file"], &missing["line"]), (&json!("none.jsonl"), &Value::Null));
    let store = error(&workspace.toller("store info tiny-bert --json"), 1);
    assert_eq!(store["file"], "tiny-bert");

    let usage = error(&workspace.toller("eval --json --qrels qrels.txt --measures foo s.run"), 2);
    assert_eq!(usage["kind"], "usage");
    assert!(usage["hint"].as_str().unwrap().contains("the measures are"), "{usage}");
    let flag = error(&workspace.toller("index --json --corpsu c.jsonl --language en --output new"), 2);
    assert!(flag["message"].as_str().unwrap().starts_with("unexpected argument '--corpsu'"), "{flag}");
    assert!(flag["hint"].as_str().unwrap().contains("'--corpus'"), "{flag}");
    let required = error(&workspace.toller("index --json --language en"), 2);
    assert!(required["message"].as_str().unwrap().contains("--corpus <FILE>"), "{required}");
    assert!(required["hint"].as_str().unwrap().starts_with("Usage: toller index"), "{required}");

    // Without the flag, and for words that only look like it, errors are text.
    workspace.toller(&index.replace("--json", "--corpus none.jsonl")).fails(1, &["error: cannot open"]);
    workspace.toller("search --nonsense -- --json").fails(2, &["error: unexpected argument"]);
    assert!(workspace.runs("index --json --help").stdout.contains("Usage: toller index"));
}

#[test]
fn a_damaged_store_is_a_result_and_an_error() {
    let workspace = workspace();
    workspace.runs("encode -q --model tiny-bert --corpus c.jsonl --output st");
    workspace.flip_byte("st/shard-00000.safetensors", 9);
    let found = workspace.toller("store verify st --json -q");
    assert_eq!(Checker::new().problem("closed", "store-verify", &found.json()), None);
    assert_eq!(found.json()["damaged"][0]["file"], "st/shard-00000.safetensors");
    assert_eq!(error(&found, 1)["kind"], "failure");
}

#[test]
fn errors_of_every_part_name_their_file() {
    let workspace = workspace();
    fs::create_dir(workspace.path("empty-model")).unwrap();
    workspace.write("cross-encoders/mpnet/config.json", "{");
    workspace.write("s.run", "q1 Q0 d1 1 1.0 t\n");
    workspace.write("keys", "read a\nnobody\n");
    workspace.write("recipe.toml", "[[step]]\n");
    workspace.write("bad.jsonl", "{\"anchor\":\"a\",\"positive\":\"b\"}\n{}\n");
    workspace.write("sheet.csv", "query_id,doc_id,grade\nq,d,x\n");
    let train = "train dual --output out --steps 1 --batch-size 1";
    for (command, file, line) in [
        ("encode --model empty-model --corpus c.jsonl --output st", "empty-model", None),
        (
            "rerank --model cross-encoders/mpnet --run s.run --queries q.tsv --corpus c.jsonl --output r.run",
            "cross-encoders/mpnet/config.json",
            None,
        ),
        (&format!("{train} --model empty-model --data bad.jsonl"), "empty-model", None),
        (&format!("{train} --model tiny-bert --data bad.jsonl"), "bad.jsonl", Some(2)),
        (&format!("{train} --model tiny-bert --data none.jsonl"), "none.jsonl", None),
        ("convert empty-model --output converted", "empty-model", None),
        ("run recipe.toml --work work", "recipe.toml", Some(1)),
        ("annotate agreement sheet.csv sheet.csv", "sheet.csv", Some(2)),
        ("serve --model tiny-bert --api-key-file keys --port 0", "keys", Some(2)),
        (
            "rerank --model empty-model --run s.run --queries q.tsv --corpus c.jsonl --output r.run",
            "empty-model",
            None,
        ),
    ] {
        let found = error(&workspace.toller(&format!("{command} --json -q")), 1);
        assert_eq!((&found["file"], &found["line"]), (&json!(file), &json!(line)), "{command}: {found}");
    }
}
