//! `toller train` from outside.

use serde_json::json;
use toller_testing::repository;

use crate::support::Workspace;

const TOPICS: [&str; 8] = ["rain", "guns", "ducks", "snow", "music", "trains", "bread", "paper"];

fn workspace(model: &str) -> Option<Workspace> {
    let model = toller_testing::shared(&format!("golden/{model}"))?;
    let workspace = Workspace::new();
    crate::support::copy_folder(&model, &workspace.path("model"));
    let line = |index: usize| {
        let (own, other) = (TOPICS[index], TOPICS[(index + 3) % TOPICS.len()]);
        let record = json!({
            "query_id": index.to_string(),
            "query": format!("where is {own} from"),
            "positive_passages": [{"docid": own, "title": "", "text": format!("{own} is from the south")}],
            "negative_passages": [{"docid": other, "title": "", "text": format!("{other} is from the south")}],
        });
        format!("{record}\n")
    };
    workspace.write("data.jsonl", (0..TOPICS.len()).map(line).collect::<String>());
    Some(workspace)
}

#[test]
fn a_trained_model_encodes_and_scores() {
    let Some(workspace) = workspace("bert-mean") else { return };
    workspace.write(
        "run.toml",
        "model = \"model\"\ndata = [\"data.jsonl\"]\nbatch-size = 4\nlr = 1e-3\nsteps = 9\n",
    );
    let first = workspace.runs("train dual --config run.toml --steps 4 --output out --json -q --threads 1");
    let report: serde_json::Value = serde_json::from_str(&first.stdout).unwrap();
    assert_eq!(report["steps"], 4, "a flag wins over the file");
    assert_eq!(workspace.lines("out/log.jsonl").len(), 4);
    workspace.runs("train dual --config run.toml --steps 4 --output again --chunk-size 3 --threads 2");
    assert!(workspace.read("out/model.safetensors") == workspace.read("again/model.safetensors"));
    assert!(workspace.read("out/model.safetensors") != workspace.read("model/model.safetensors"));
    let card = String::from_utf8(workspace.read("out/README.md")).unwrap();
    for line in [
        "- loss: contrastive over the whole batch, temperature 0.05",
        "- steps: 4",
        "- optimizer: adamw, weight decay 0",
    ] {
        assert!(card.lines().any(|found| found == line), "{card}");
    }
    assert!(!card.contains(['{', '(']), "{card}");
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"ducks\"}\n");
    workspace.runs("encode --model out --corpus corpus.jsonl --output store");

    // How titles were given in training is how they are given from then on, unless asked otherwise.
    let train = "train dual --config run.toml --steps 1 --quiet --output";
    workspace.runs(&format!("{train} paired --title-mode pair"));
    workspace.runs(&format!("{train} colons --title-separator :"));
    workspace.write("titled.jsonl", "{\"_id\": \"a\", \"title\": \"Ducks\", \"text\": \"ducks\"}\n");
    for (name, model, flags, mode, separator) in [
        ("p", "paired", "", "pair", ""),
        ("j", "paired", "--title-mode join", "join", " "),
        ("c", "colons", "", "join", ":"),
        ("m", "model", "", "join", " "),
    ] {
        workspace.runs(&format!("encode --model {model} --corpus titled.jsonl --output {name} {flags}"));
        let encoding =
            workspace.runs(&format!("store info {name} --json")).json()["stores"][0]["encoding"].clone();
        let said = (encoding["title_mode"].as_str(), encoding["title_separator"].as_str());
        assert_eq!(said, (Some(mode).filter(|mode| *mode != "join"), Some(separator)), "{encoding}");
    }
    workspace.runs(&format!("{train} prompted --query-prompt ask --passage-prompt -"));
    workspace.write("words.tsv", "1\tducks\n");
    for (name, input, prompt) in [("pq", "--queries words.tsv", "ask"), ("pp", "--corpus titled.jsonl", "-")]
    {
        workspace.runs(&format!("encode --model prompted {input} --output {name}"));
        let info = workspace.runs(&format!("store info {name} --json")).json();
        assert_eq!(info["stores"][0]["encoding"]["prompt"], prompt, "{info}");
    }
    workspace
        .toller(&format!("{train} no --title-mode sep --title-separator :"))
        .fails(2, &["--title-separator has no effect", "not joined"]);

    let Some(workspace) = self::workspace("bert-ce") else { return };
    workspace.runs("train cross --model model --data data.jsonl --batch-size 4 --steps 2 --output out");
    workspace.write("q.tsv", "1\tducks\n");
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"ducks\"}\n");
    workspace.write("x.run", "1 Q0 a 1 1 x\n");
    workspace.runs("rerank --model out --run x.run --queries q.tsv --corpus corpus.jsonl --output y.run");
}

#[test]
fn what_nothing_can_train_on_is_refused() {
    let Some(workspace) = workspace("bert-mean") else { return };
    let train = "train dual --model model --data data.jsonl --batch-size 4 --steps 2 --output out";
    let refused = |flags: &str, message: &str, hint: &str| {
        workspace.toller(&format!("{train} {flags}")).fails(2, &[message, hint]);
        assert!(!workspace.path("out").exists(), "{flags}");
    };
    refused(
        "--device cuda --backend native",
        "--device cuda:0 --backend native: Toller's own kernels do not train models on GPUs",
        "hint: use --backend candle, or --device cpu",
    );
    refused("--dtype bf16", "--dtype bf16: Toller's own kernels train in f32", "--backend candle");
    #[cfg(not(feature = "candle"))]
    refused("--backend candle", "--backend candle: this toller was built without candle", "hint: use");
    #[cfg(not(feature = "candle-cuda"))]
    refused("--device cuda:all", "without candle's CUDA", "build with the feature `candle-cuda`");
}

/// The same batches, dropout and dev set through candle: another implementation, whose last bits differ.
#[cfg(feature = "candle")]
#[test]
fn candle_trains_as_the_cpu_does() {
    let Some(workspace) = workspace("bert-mean") else { return };
    workspace.write("q.tsv", "1\twhere is rain from\n");
    workspace.write("qrels", "1 0 rain 1\n");
    workspace.write("c.tsv", "rain\train is from the south\nsnow\tsnow is from the south\n");
    let train = "train dual --model model --data data.jsonl --batch-size 4 --lr 1e-3 --steps 4 --dropout 0.1 \
                 --dev-queries q.tsv --dev-qrels qrels --dev-corpus c.tsv --eval-every 2";
    workspace.runs(&format!("{train} --output native"));
    workspace.runs(&format!("{train} --backend candle --chunk-size 3 --output candle"));
    let losses = |output: &str| -> Vec<f64> {
        let lines = workspace.lines(&format!("{output}/log.jsonl"));
        let loss = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap()["loss"].as_f64();
        lines.iter().map(|line| loss(line).unwrap()).collect()
    };
    let (native, candle) = (losses("native"), losses("candle"));
    assert_eq!((native.len(), candle.len()), (4, 4));
    let differences = native.iter().zip(&candle).map(|(a, b)| (a - b).abs());
    assert!(differences.fold(0.0, f64::max) < 1e-3, "{native:?} {candle:?}");
    assert_eq!(workspace.lines("candle/evaluations.jsonl").len(), 3);
    workspace.toller(&format!("{train} --output candle")).fails(1, &["devices"]);
    workspace.runs("encode --model candle --corpus c.tsv --output store");
}

#[test]
fn the_best_model_on_a_dev_set_is_saved() {
    let Some(workspace) = workspace("bert-mean") else { return };
    let lines = |line: fn(&&str) -> String| TOPICS.iter().map(line).collect::<String>();
    workspace.write("q.tsv", lines(|topic| format!("about-{topic}\twhere is {topic} from\n")));
    workspace.write("qrels", lines(|topic| format!("about-{topic} 0 {topic} 1\n")));
    workspace.write("c.tsv", lines(|topic| format!("{topic}\t{topic} is from the south\n")));
    let dev = "--dev-queries q.tsv --dev-qrels qrels --dev-corpus c.tsv --dev-measures RR,nDCG@10";
    let train = "train dual --model model --data data.jsonl --batch-size 4 --lr 3e-3 --steps 8 --output out";
    let report = workspace.runs(&format!("{train} {dev} --eval-every 3 --json -q"));
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(workspace.lines("out/evaluations.jsonl").len(), 4, "at 0, 3, 6 and 8");
    assert!(String::from_utf8(workspace.read("out/training.svg")).unwrap().contains("nDCG@10"));
    // The saved model has the measures that were reported.
    workspace.runs("encode --model out --corpus c.tsv --output store");
    workspace.runs("search --dense store --model out --queries q.tsv --output x.run");
    let measured = workspace.runs("eval --qrels qrels --measures RR x.run --json");
    let measured: serde_json::Value = serde_json::from_str(&measured.stdout).unwrap();
    let measured = measured["runs"][0]["aggregates"]["RR"].as_f64().unwrap();
    assert!(
        (report["best"]["measures"]["RR"].as_f64().unwrap() - measured).abs() < 1e-9,
        "{report} {measured}"
    );

    // Steps too small to change anything: the model before them stays the first of the best.
    let still = train.replace("--lr 3e-3", "--lr 1e-30");
    let first = workspace.runs(&format!("{still}-first {dev} --eval-every 3"));
    first.says([
        "warning: saved the model of step 0, the best on the dev set: training has not made it better",
    ]);
    let last = workspace.runs(&format!("{still}-last {dev} --eval-every 3 --save-last"));
    assert!(!last.stderr.contains("saved the model of"), "{}", last.stderr);

    // What patience ended is complete: no step follows.
    let patient = format!("{still}-patient {dev} --eval-every 3 --patience 1");
    workspace.runs(&patient);
    let again = workspace.runs(&patient);
    again.says(["out-patient is complete after 3 steps; nothing to do"]);
    assert!(!again.stderr.contains("going on"), "{}", again.stderr);

    // Queries that are judged and not given count as zero.
    workspace.head("q.tsv", 5, "five.tsv");
    let fewer = dev.replace("q.tsv", "five.tsv");
    workspace
        .runs(&format!("{train}-fewer {fewer}"))
        .says(["warning: the dev set counts 3 of 8 judged queries as zero, which have no results"]);

    // No model can rank well what is not there.
    workspace.write("other.tsv", "x\tsomething else\n");
    let apart = dev.replace("c.tsv", "other.tsv");
    let message = "no document that is judged relevant is among the passages of the dev set";
    workspace.toller(&format!("{train}-apart {apart}")).fails(1, &[message]);

    let refused = |arguments: &str, message: &str| {
        workspace.toller(&format!("{train}2 {arguments}")).fails(2, &[message]);
    };
    refused("--patience 2", "--patience needs a dev set");
    refused("--dev-queries q.tsv --dev-qrels qrels", "the dev set has no collection");
    refused(&format!("{dev} --dev-run x.run"), "--dev-run is for a cross-encoder");
}

/// Groups that every tiny model can tokenize: the passage that has the query's word is the positive.
fn groups(workspace: &Workspace) {
    let words = ["city", "years", "states", "time", "world", "house", "river", "king"];
    let line = |index: usize| {
        let (own, other) = (words[index], words[(index + 3) % words.len()]);
        let passage =
            |word: &str| json!([{"docid": word, "title": "", "text": format!("in the {word} of the")}]);
        let record = json!({
            "query_id": index.to_string(), "query": own,
            "positive_passages": passage(own), "negative_passages": passage(other),
        });
        format!("{record}\n")
    };
    workspace.write("groups.jsonl", (0..words.len()).map(line).collect::<String>());
}

#[test]
fn a_model_without_a_classifier_gets_one() {
    let workspace = Workspace::new();
    groups(&workspace);
    workspace.write("q.tsv", "1\tcity\n");
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"the city\"}\n");
    workspace.write("x.run", "1 Q0 a 1 1 x\n");
    let train = "train cross --data groups.jsonl --batch-size 4 --max-length 24 --dropout 0 --warmup 0 -v";
    for (model, flags, class, labels) in [
        ("tiny-bert", "--loss listwise --lr 3e-3 --epochs 40", "BertForSequenceClassification", 1),
        ("models/distilbert", "--loss listwise --steps 2", "DistilBertForSequenceClassification", 1),
        ("cross-encoders/roberta", "--loss two-labels --steps 2", "RobertaForSequenceClassification", 2),
        ("models/ernie", "--labels 2 --steps 2", "ErnieForSequenceClassification", 2),
    ] {
        workspace.add_fixture(model);
        // One with another head: only the transformer is taken.
        let config = format!("{model}/config.json");
        let text = String::from_utf8(workspace.read(&config)).unwrap();
        workspace.write(&config, text.replace("ForSequenceClassification", "ForMaskedLM"));
        let output = model.replace('/', "-") + "-ce";
        let said = workspace.runs(&format!("{train} --model {model} {flags} --output {output}"));
        let label = if labels == 1 { "label" } else { "labels" };
        said.says([&*format!("the model has no classifier: a new one with {labels} {label}")]);
        let config: serde_json::Value =
            serde_json::from_slice(&workspace.read(&format!("{output}/config.json"))).unwrap();
        assert_eq!(config["architectures"], json!([class]));
        assert_eq!(config["id2label"].as_object().unwrap().len(), labels, "{model}");
        assert!(!workspace.path(&format!("{output}/modules.json")).exists());
        let rerank = "rerank --run x.run --queries q.tsv --corpus corpus.jsonl --max-length 24";
        workspace.runs(&format!("{rerank} --model {output} --output {output}.run"));
        let log = workspace.lines(&format!("{output}/log.jsonl"));
        let loss = |line: &String| -> f64 {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["loss"].as_f64().unwrap()
        };
        assert!((loss(&log[0]) - 2.0_f64.ln()).abs() < 0.05, "{model}: nearly chance: {}", loss(&log[0]));
        assert!(log.len() < 9 || loss(log.last().unwrap()) < 0.1, "{model}: {}", loss(log.last().unwrap()));
    }
    // The new weights follow from the seed. Trained further, the classifier comes from the files.
    let weights = |flags: &str, output: &str| {
        workspace.runs(&format!("{train} --model tiny-bert --steps 1 {flags} --output {output}"));
        workspace.read(&format!("{output}/model.safetensors"))
    };
    let one = weights("--seed 1 --threads 1", "one");
    assert!(one == weights("--seed 1 --threads 2", "two") && one != weights("--seed 2", "three"));
    let further = workspace.runs(&format!("{train} --model one --steps 1 --output four"));
    assert!(!further.stderr.contains("no classifier"), "{}", further.stderr);
    workspace
        .toller(&format!("{train} --model one --steps 1 --labels 2 --output five"))
        .fails(2, &["--labels 2: the model has a classifier with 1 label", "leave --labels out"]);
    workspace
        .toller(&format!("{train} --model tiny-bert --steps 1 --labels 2 --loss listwise --output five"))
        .fails(1, &["a loss over 1 label, and a model that has 2"]);
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let Some(workspace) = workspace("bert-mean") else { return };
    let fails = |code: i32, arguments: &str, message: &str| {
        workspace.toller(&format!("train {arguments}")).fails(code, &[message]);
    };
    fails(2, "dual --data data.jsonl --output out", "--model is missing");
    fails(2, "dual --model model --output out", "there is nothing to learn from");
    fails(2, "dual --model model --data data.jsonl --output out --lr 0", "--lr is 0");
    let batches_of_9 = "dual --model model --data data.jsonl --output out --batch-size 9";
    fails(1, batches_of_9, "8 examples do not fill a batch of 9");
    workspace.write("bad.toml", "model = \"model\"\nunknown = 3\n");
    fails(2, "dual --config bad.toml --output out", "unknown");
    for (content, message) in [
        (&b"lr = -1\n"[..], "error: --lr is -1"),
        (b"batch_size = 8\n", "bad.toml: there is no option \"batch_size\"\nhint: write \"batch-size\""),
        (b"symmetric = \"yes\"\n", "error: bad.toml: unexpected value 'yes' for '--symmetric' found"),
        (b"lr = \"\xff\"\n", "error: cannot read bad.toml: stream did not contain valid UTF-8"),
    ] {
        std::fs::write(workspace.path("bad.toml"), content).unwrap();
        let command = "train dual --config bad.toml --model model --data data.jsonl --output out";
        let output = workspace.toller(command);
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
    let train = "dual --model model --data data.jsonl --output out";
    fails(2, &format!("{train} --relevance-level 2"), "--relevance-level is for --queries");
    fails(2, &format!("{train} --no-in-batch --no-duplicates"), "--no-duplicates has no effect");
    fails(1, &format!("{train} --only query"), "hint: give --untie to make two encoders of one");
    fails(1, &format!("{train} --batch-size 4 --warmup 9 --steps 3"), "a warm-up of 9 steps in a run of 3");
    fails(2, &format!("{train} --warmup 1.5"), "--warmup is 1.5");
    crate::support::copy_folder(&repository("tests/fixtures/models/mpnet"), &workspace.path("mpnet"));
    let relative = workspace.toller("train dual --model mpnet --data data.jsonl --output mpnet-out");
    relative.fails(1, &["error: a model with relative positions cannot be trained", "BERT, ERNIE, RoBERTa"]);
    std::fs::create_dir(workspace.path("full")).unwrap();
    workspace.write("full/notes.txt", "mine");
    let full = "dual --model model --data bad.jsonl --output full";
    workspace.write("bad.jsonl", "{\"query\": \"x\", \"positive\": \"y\"}\n{\"query\": 1}\n");
    fails(1, "dual --model model --data bad.jsonl --output other", "bad.jsonl, line 2");
    fails(1, full, "hint: choose another output");
}

#[test]
fn judged_queries_are_learned_from() {
    let Some(workspace) = workspace("bert-mean") else { return };
    let lines = |line: fn(&&str) -> String| TOPICS.iter().map(line).collect::<String>();
    workspace
        .write("q.tsv", lines(|topic| format!("{topic}\twhere is {topic} from\n")) + "other\twhat else\n");
    workspace.write("qrels", lines(|topic| format!("{topic} 0 {topic} 1\n")) + "rain 0 gone 1\n");
    workspace.write("c.tsv", lines(|topic| format!("{topic}\t{topic} is from the south\n")));
    workspace.write("x.run", "rain Q0 guns 1 2 x\nsnow Q0 guns 1 2 x\nother Q0 guns 1 2 x\n");
    workspace.runs("mine --run x.run --qrels qrels --output mined.jsonl.gz --negatives 1");
    let train =
        "train dual --model model --queries q.tsv --qrels qrels --corpus c.tsv --batch-size 4 --steps 2";
    let trained = workspace.runs(&format!("{train} --negatives mined.jsonl.gz --output out --max-length 12"));
    trained.says([
        "1 query without a relevant document left out",
        "warning: left out 1 passage of judgments and negatives, missing from the collection, such as \"gone\" of query \
         \"rain\"",
        "8 examples, 2 of them with negatives of their own; 2 steps",
    ]);
    let card = String::from_utf8(workspace.read("out/README.md")).unwrap();
    for line in [
        "- qrels",
        "- mined.jsonl.gz",
        "- tokens of a passage: 12 at most",
        "- encoders: one, for queries and passages",
    ] {
        assert!(card.lines().any(|found| found == line), "{line}: {card}");
    }
    let again = workspace.toller(&format!("{train} --output out --max-length 12"));
    again.fails(
        1,
        &["out holds a run with other settings: not the same data", "delete this one to start again"],
    );
    let other =
        workspace.toller(&format!("{train} --negatives mined.jsonl.gz --output out --max-length 12 --lr 1"));
    other.fails(1, &["learning rate was 0.00002, linear, warm-up 0.1 of the steps, is 1, linear"]);
    workspace.write("foreign.tsv", "nobody\tguns\n");
    let foreign = workspace.toller(&format!("{train} --negatives foreign.tsv --output other"));
    foreign.fails(1, &["no query of the negatives has a relevant document (1 in all)"]);
    workspace.write("twice.tsv", "rain\twhere is rain from\nrain\twhere is rain from\n");
    let twice =
        train.replace("q.tsv", "twice.tsv").replace("batch-size 4", "batch-size 1 --negatives-per-query 1");
    workspace.toller(&format!("{twice} --output twice")).fails(1, &["--skip-bad-lines"]);
    let skipped = format!("{twice} --negatives mined.jsonl.gz --skip-bad-lines --output twice");
    workspace.runs(&skipped).says(["1 example, 1 of them with negatives"]);
    workspace
        .write("same.jsonl", "{\"query\":\"a\",\"positive\":\"p\"}\n{\"query\":\"b\",\"positive\":\"p\"}\n");
    let same = "train dual --model model --data same.jsonl --batch-size 2 --steps 2 --output same";
    workspace.runs(same).says([
        "1 example with a query or a passage of another example",
        "(--no-duplicates keeps such examples apart)",
    ]);
    workspace
        .toller(&format!("{same}-apart --no-duplicates"))
        .fails(1, &["there is no batch of 2 examples without"]);
}

#[test]
fn a_token_classifier_is_trained_and_cuts_documents() {
    let workspace = Workspace::new();
    let line = |topic: &&str| {
        let segments = [format!("{topic} is from the south."), format!("Now it is {topic}")];
        format!("{}\n", json!({"segments": segments}))
    };
    workspace.write("marked.jsonl", TOPICS.iter().map(line).collect::<String>());
    workspace.write("documents.tsv", "d\tsnow is from the south. Now it is snow\n");
    workspace
        .write("run.toml", "model = \"tiny-bert\"\ndata = [\"marked.jsonl\"]\nbatch-size = 4\nlr = 3e-3\n");
    let train =
        "train token --config run.toml --dev-data marked.jsonl --epochs 40 --eval-every 20 --output out";
    let report = workspace.runs(&format!("{train} --json"));
    report.says(["the model has no classifier of tokens: a new one starts with zeros"]);
    let f1 = report.json()["best"]["measures"]["F1"].as_f64().unwrap();
    assert!(f1 > 0.9, "{f1}");
    assert_eq!(workspace.lines("out/evaluations.jsonl").len(), 5);
    let card = String::from_utf8(workspace.read("out/README.md")).unwrap();
    assert!(card.contains("library_name: transformers") && !card.contains("negatives"), "{card}");

    let cut =
        workspace.runs("data t2ranking segment documents.tsv --model out --sigma 0.5 1 --output cut --json");
    let passages = workspace.lines("cut/sigma-0.5.jsonl");
    assert_eq!(passages[0], r#"{"_id":"d#0","text":"snow is from the south."}"#);
    assert_eq!(cut.json()["statistics"]["sigma 0.5"]["passages"], passages.len());
    assert_eq!(workspace.lines("cut/sigma-1.jsonl").len(), 1);

    let fails = |code: i32, arguments: &str, message: &str| {
        workspace.toller(arguments).fails(code, &[message]);
    };
    fails(2, "train token --model tiny-bert --output other", "there is nothing to learn from");
    let no_dev = "train token --model tiny-bert --data marked.jsonl --output other --patience 1";
    fails(2, no_dev, "--patience needs a dev set");
    let segment = "data t2ranking segment documents.tsv --output other --sigma 0.5";
    fails(1, &format!("{segment} --model tiny-bert"), "without a classifier of tokens");
    fails(1, &format!("{segment} --model out --max-length 12 --stride 11"), "but a window has 10");
    fails(2, &format!("{segment} 2 --model out"), "a number from 0 to 1");
}

#[test]
fn what_examples_have_wrong_is_said() {
    let workspace = Workspace::new();
    let train = "train dual --model tiny-bert --batch-size 2 --steps 1 --max-length 16 --output";
    let (good, bad) = (
        "{\"query\": \"city\", \"positive\": \"the city\", \"negative\": \"the city\"}\n",
        "{\"question\": \"city\", \"positive_ctxs\": []}\n",
    );
    workspace.write("bad.jsonl", format!("{good}{bad}{}", good.replace("city", "river")));
    workspace
        .toller(&format!("{train} bad --data bad.jsonl"))
        .fails(1, &["bad.jsonl, line 2: no positive passage"]);
    workspace.runs(&format!("{train} out --data bad.jsonl --skip-bad-lines")).says([
        "warning: skipped 1 bad record, the first: bad.jsonl, line 2: no positive passage",
        "warning: 2 examples with a negative that is a positive of the same query, the first: bad.jsonl, line 1",
    ]);
    for ids in [
        "1\t23\n",
        "1\t0\t23\t1\n",
        "q\tQ0\td\t1\t2.5\tx\n",
        "{\"query_id\": \"1\", \"positives\": [{\"id\": \"a\"}], \"negatives\": []}\n",
    ] {
        workspace.write("ids", ids);
        workspace.toller(&format!("{train} bad --data ids")).fails(
            1,
            &[
                "ids, line 1: identifiers, where texts are expected",
                "give the texts as --queries and --corpus, and the identifiers as --qrels or --negatives",
            ],
        );
    }
    workspace.write("queries.tsv", "7\twhat is it\n8\twho is it\n");
    workspace.toller(&format!("{train} bad --data queries.tsv")).fails(
        1,
        &[
            "queries.tsv, line 1: the columns number, text, where texts are expected",
            "give the texts as --queries",
        ],
    );
    workspace.write("both.jsonl", "{\"query\": \"q\", \"answer\": \"a\", \"positive\": \"p\"}\n");
    workspace
        .toller(&format!("{train} bad --data both.jsonl"))
        .fails(1, &["both.jsonl, line 1: answer and positive are both passages; leave one of them out"]);
    workspace.write("x.csv", "a question,an answer\na,b\n");
    workspace
        .toller(&format!("{train} bad --data x.csv"))
        .fails(1, &["x.csv, line 1: expected a header", "hint: correct the record"]);
    let alone = format!("{train} bad --data bad.jsonl --skip-bad-lines").replace("size 2", "size 1");
    workspace
        .toller(&format!("{alone} --negatives-per-query 0"))
        .fails(2, &["none of its negatives is taken", "take a negative of each query"]);
    assert!(!workspace.path("bad").exists());
}

#[test]
fn a_length_that_the_model_cannot_take_is_refused_by_its_own_flag() {
    let workspace = Workspace::new();
    groups(&workspace);
    let train = "train dual --model tiny-bert --data groups.jsonl --batch-size 4 --steps 1 --output out";
    for (length, reason) in [(129, "the model has positions for 128"), (2, "nothing is left for the text")] {
        let message = format!("maximum length of {length} tokens");
        workspace
            .toller(&format!("{train} --max-length 16 --query-max-length {length}"))
            .fails(1, &["queries: ", &message, reason, "hint: change --query-max-length\n"]);
        workspace
            .toller(&format!("{train} --max-length {length} --query-max-length 16"))
            .fails(1, &[&message, reason, "hint: change --max-length\n"]);
    }
    assert!(!workspace.path("out").exists());
}

#[test]
fn a_model_that_has_diverged_is_an_error() {
    let workspace = Workspace::new();
    groups(&workspace);
    let train = "train dual --model tiny-bert --data groups.jsonl --batch-size 4 --steps 1 --warmup 0 --max-length 16 \
                 --output out --lr";
    workspace
        .toller(&format!("{train} 1e39"))
        .fails(1, &["the weights of step 1 are not finite", "lower the learning rate"]);
    assert!(!workspace.path("out/model.safetensors").exists());
    // There is nothing to go on from, so the output is free.
    workspace.runs(&format!("{train} 1e-5"));
}

#[test]
fn a_finished_training_is_complete() {
    let Some(workspace) = workspace("bert-mean") else { return };
    let train = "train dual --model model --data data.jsonl --batch-size 4 --steps 2 --output out";
    workspace.runs(train).says(["out: trained, 2 steps", "steps/s, loss ", "(mean of the last 2 steps)"]);
    let again = workspace.runs(train);
    again.says(["out is complete after 2 steps; nothing to do"]);
    assert!(!again.stderr.contains("going on") && !again.stderr.contains("trained"), "{}", again.stderr);
    std::fs::remove_dir_all(workspace.path("out/checkpoints")).unwrap();
    workspace.toller(train).fails(
        1,
        &[
            "out: the model is trained, but its run has no checkpoint",
            "hint: choose another output, or delete",
        ],
    );
    assert_eq!(workspace.lines("out/log.jsonl").len(), 2);
}

/// Modules may have folders of any name, and config.json the names of another architecture.
#[test]
fn a_model_is_saved_as_it_is_laid_out() {
    let workspace = Workspace::new();
    workspace.add_fixture("tiny-bert");
    let model = workspace.path("tiny-bert");
    std::fs::create_dir(model.join("parts")).unwrap();
    std::fs::rename(model.join("1_Pooling"), model.join("parts/pooling")).unwrap();
    let modules = json!([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "parts/pooling", "type": "sentence_transformers.models.Pooling"},
    ]);
    workspace.write("tiny-bert/modules.json", modules.to_string());
    workspace.write("tiny-bert/config_sentence_transformers.json", "{\"similarity_fn_name\": \"cosine\"}");
    let config: serde_json::Value = serde_json::from_slice(&workspace.read("tiny-bert/config.json")).unwrap();
    let mut config = config.as_object().unwrap().clone();
    config.insert("dim".to_owned(), json!(7));
    config.insert("dropout".to_owned(), json!(0.5));
    workspace.write("tiny-bert/config.json", json!(config).to_string());
    let lines =
        TOPICS.map(|topic| format!("{}\n", json!({"query": topic, "positive": format!("of {topic}")})));
    workspace.write("data.jsonl", lines.concat());
    let train = "train dual --model tiny-bert --data data.jsonl --batch-size 4 --steps 1 --output";
    let said = |output: &str| -> serde_json::Value {
        let file = workspace.read(&format!("{output}/config_sentence_transformers.json"));
        serde_json::from_slice::<serde_json::Value>(&file).unwrap()["similarity_fn_name"].clone()
    };
    workspace.runs(&format!("{train} own"));
    assert_eq!(said("own"), "cosine");
    assert!(workspace.path("own/parts/pooling/config.json").is_file());
    let modules = String::from_utf8(workspace.read("own/modules.json")).unwrap();
    assert!(modules.contains("Normalize"), "trained by the cosine: {modules}");
    workspace.runs(&format!("{train} dot --similarity dot"));
    assert_eq!(said("dot"), "dot");
    workspace.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"ducks\"}\n");
    workspace.runs("encode --model own --corpus corpus.jsonl --output store");
}

#[test]
fn a_norm_after_the_pooling_is_refused_before_training() {
    let workspace = Workspace::new();
    workspace.add_fixture("realm");
    workspace.write("data.jsonl", "{\"query\": \"a\", \"positive\": \"b\"}\n".repeat(2));
    workspace
        .toller("train dual --model realm --data data.jsonl --batch-size 2 --steps 1 --output out")
        .fails(1, &["a norm after the pooling cannot be trained yet"]);
}
