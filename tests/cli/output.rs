//! Data on stdout, everything else on stderr; JSON where it is asked for; help that names every flag.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

use serde_json::json;

use crate::support::{Workspace, assert_has};

/// A workspace with a store of all sentences.
fn with_store() -> Workspace {
    let workspace = Workspace::with_xquad();
    workspace.runs("encode --model tiny-bert --corpus data/corpus.jsonl --output store");
    workspace
}

const SEARCH: &str = "search --dense store --model tiny-bert --queries data/queries.jsonl --k 5";

#[test]
fn stdout_carries_data_alone() {
    let workspace = Workspace::with_xquad();
    let encoded = workspace.runs("encode -v --model tiny-bert --corpus data/corpus.jsonl --output store");
    assert_eq!(encoded.stdout, "");
    encoded.says([
        "computing on the CPU", "model: tiny-bert", "collection: 1180 passages", "encoded 1180 passages",
    ]);
    let run = workspace.runs(&format!("{SEARCH} -v --output -"));
    assert_eq!(run.stdout.lines().count(), 1190 * 5);
    for line in run.stdout.lines() {
        let columns: Vec<&str> = line.split(' ').collect();
        assert!(columns.len() == 6 && columns[1] == "Q0" && columns[5] == "toller", "{line:?}");
    }
    run.says(["searched 1180 vectors for 1190 queries"]);
    // What is piped into the next command is what a file would hold.
    let table = "eval --qrels data/qrels.txt --measures RR --format csv -";
    let piped = workspace.toller_reading(run.stdout.as_bytes(), table).succeeds();
    assert!(piped.stdout.lines().count() == 2 && piped.stderr.is_empty(), "{piped:?}");
    // Stdout cannot be the run's and the report's.
    let both = ["--output - and --json would both write to stdout", "give --output a file"];
    workspace.toller(&format!("{SEARCH} --json --output -")).fails(2, &both);
}

#[test]
fn figures_and_pages_have_no_endings_of_other_formats() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "1 0 d 1\n");
    workspace.write("run.txt", "1 Q0 d 1 1.0 x\n");
    for (command, says) in [
        ("depth run.txt --qrels qrels.txt --plot x.png", "ends in .svg"),
        ("data stats --qrels qrels.txt --plot x.PDF", "ends in .svg"),
        ("report run.txt --qrels qrels.txt --output x.pdf", "ends in .html"),
    ] {
        workspace.toller(command).fails(2, &["would hold", "hint: give it a name that", says]);
        assert!(!workspace.has_trace_of("x."));
    }
    workspace.runs("data stats --qrels qrels.txt --plot figure");
}

#[test]
fn values_and_options_are_refused_in_plain_words() {
    let workspace = Workspace::new();
    for (command, says) in [
        ("serve --model tiny-bert --port 99999", "for '--port <N>': a whole number from 0 to 65535"),
        ("search --sparse i --queries q --output o --k 0", "for '--k <N>': a whole number from 1"),
        ("search --sparse i --queries q --output o --k x", "for '--k <N>': a whole number"),
        ("compare a b --qrels q --confidence 95", "a number between 0 and 1, such as 0.95"),
        ("compare a b --qrels q --equivalence nan", "a number above 0"),
        ("search --sparse i --topics q --output o", "hint: what other programs call --topics is --queries"),
        ("search --sparse i --bm25.k1 1", "hint: what other programs call --bm25.k1 is --k1"),
        ("index --input d", "hint: what other programs call --input is --corpus"),
        ("eval -q -c -m ndcg_cut.10 q r", "hint: the judgments are --qrels FILE; after --trec-eval"),
        ("eval --qrels q", "hint: see `toller eval --help`"),
        ("serve --auto-truncate", "is what is done unless --no-truncate is given"),
        ("train dual --data d --model m --output o --learning_rate 1", "call --learning_rate is --lr"),
        ("train dual --data d --fp16", "call --fp16 is --dtype bf16 with --backend candle"),
        ("encode --fp16", "call --fp16 is --dtype f16"),
        ("train cross --save_total_limit 2", "call --save_total_limit is --keep-checkpoints"),
        ("train dual --train_n_passages 8", "is --negatives-per-query, less one for the positive"),
        ("train dual --resume", "call --resume is the same command again"),
        ("train dual --lora", "call --lora is not there"),
        ("train dual --model m --data - --output o", "standard input can be read only once"),
        ("search --sparse i --k 0 word", "hint: see `toller search --help`"),
        ("data dureader label --threshold 2 x --output o", "hint: see `toller data dureader label --help`"),
        ("fuse a b --method rrf --output o -k -1", "joined to its option, as in --option=-1"),
        ("eval --qrels https://a.b/c run", "download other URLs first"),
    ] {
        workspace.toller(command).fails(2, &[says]);
    }
    workspace
        .toller("search --hits 5 --json")
        .fails(2, &["\"hint\":\"what other programs call --hits is --k\""]);
    workspace
        .toller("search --sparse i --k 0 word --json")
        .fails(2, &["a whole number from 1", "\"hint\":\"see `toller search --help`\""]);
    let unknown = workspace.toller("accuracy run --queries q --corpus c --depths 1,2");
    unknown.says(["unexpected argument '--depths'", "hint: see `toller accuracy --help`"]);
    assert!(!unknown.stderr.contains("as a value"), "{}", unknown.stderr);
}

#[test]
fn json_is_json_and_has_the_result() {
    let workspace = with_store();
    let result = workspace
        .runs(
            "encode --json --model tiny-bert --queries data/queries.jsonl --output queries --store-dtype f16",
        )
        .json();
    assert_has(&result, json!({"rows": 1190, "dim": 32, "dtype": "f16"}));
    assert_eq!(result["complete"], true);
    let result = workspace.runs(&format!("{SEARCH} --json --output run.txt")).json();
    assert_has(&result, json!({"queries": 1190, "documents": 1180, "hits": 5950}));
    let result = workspace.runs("eval --json --per-query --qrels data/qrels.txt run.txt").json();
    assert_eq!(result["runs"][0]["queries"], 1190);
    let measures = result["runs"][0]["aggregates"].as_object().unwrap();
    assert!(["nDCG@10", "RR@10", "AP", "R@100"].iter().all(|name| measures[*name].is_f64()), "{measures:?}");
    let result = workspace.build_xquad("--json").json();
    assert_has(&result, json!({"sentences": 1180, "questions": 1190}));
    let result = workspace.runs("doctor --json").json();
    assert!(result["instruction_sets"].as_array().unwrap().contains(&"portable".into()), "{result:#}");
    assert_eq!(result["offline"], true);
}

#[test]
fn quiet_commands_say_nothing() {
    let workspace = Workspace::with_xquad();
    for arguments in [
        "encode -q --model tiny-bert --corpus data/corpus.jsonl --output store",
        "encode -q --model tiny-bert --corpus data/corpus.jsonl --output store",
        "search -q --dense store --model tiny-bert --queries data/queries.jsonl --k 5 --output run.txt",
        "-q search --dense store --model tiny-bert --queries data/queries.jsonl --k 5 --output run.txt",
    ] {
        let done = workspace.runs(arguments);
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""), "{arguments}");
    }
    let done = workspace.runs("eval -q --qrels data/qrels.txt run.txt");
    assert!(done.stderr.is_empty() && done.stdout.lines().count() == 2, "{done:?}");
    // But errors are errors.
    workspace.toller("eval -q --qrels none.txt run.txt").fails(1, &["error: cannot open none.txt"]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let workspace = with_store();
    workspace.runs(&format!("{SEARCH} --output run.txt"));
    for arguments in [
        "eval --qrels data/qrels.txt run.txt --per-query",
        "eval --qrels data/qrels.txt run.txt --per-query --json",
        "search --dense store --model tiny-bert --queries data/queries.jsonl --k 1000 --output -",
    ] {
        let mut child = workspace.spawn(arguments);
        let mut first = String::new();
        // Dropped after a line, as `head -1` does; far more than a pipe holds is still to come.
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(!first.is_empty(), "{arguments}: {stderr}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments}: {stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("error"), "{arguments}: {stderr}");
    }
}

#[test]
fn completions_for_every_shell() {
    let workspace = Workspace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = workspace.runs(&format!("completions {shell}"));
        assert!(script.stdout.contains("toller") && script.stdout.contains("query-vectors"), "{shell}");
        assert_eq!(script.stderr, "");
    }
}

#[test]
fn help_says_more_than_the_summary() {
    let workspace = Workspace::new();
    for (command, says) in [
        ("fuse", "Ties are broken by the rank in the first run"),
        ("eval", "A judged query that is missing from a run counts as zero"),
        ("tune alpha", "Among weights of equal value the smallest is chosen"),
        ("store pull", "Every file is verified"),
        ("annotate vote", "A grade wins if"),
    ] {
        let words = |flag: &str| {
            let help = workspace.runs(&format!("{command} {flag}")).stdout;
            help.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(words("--help").contains(says), "{}", words("--help"));
        assert!(!words("-h").contains(says), "{}", words("-h"));
    }
}

#[test]
fn help_names_every_flag_of_the_command_line() {
    const COMMANDS: &[(&str, &str)] = &[
        ("", "--json --verbose --quiet --threads --version"),
        ("index-info", "--term"),
        (
            "encode",
            "--model --corpus --queries --output --device --backend --dtype --store-dtype --max-length \
             --batch-tokens --shard --prompt --title-separator --context-field --skip-bad-lines --overwrite",
        ),
        (
            "search",
            "--dense --model --query-vectors --queries --k --output --scan --sparse --ranker --k1 --b \
             --mu --lambda --exact-lengths --rm3 --rocchio --fusion --alpha --fusion-depth --skip-bad-lines --explain",
        ),
        ("reproduce", "--configs --work --output --markdown"),
        (
            "rerank",
            "--model --run --corpus --queries --depth --k --output --combine --interpolate --cache \
             --passage-window",
        ),
        (
            "retrieve",
            "--dense --sparse --fusion --fusion-depth --queries --rerank --rerank-max-length \
             --rerank-dtype --corpus --depth --k --keep-stages --output",
        ),
        ("index", "--corpus --language --analyzer --output --memory --doc-vectors --overwrite"),
        ("analyze", "--language --analyzer"),
        ("fuse", "--method --weights --alpha --k --rrf-k --output --normalize --missing"),
        ("tune", "bm25 alpha"),
        ("tune bm25", "--sparse --queries --qrels --measure --k1 --b --plot --format"),
        ("tune alpha", "--qrels --measure --alphas --method --rrf-k --plot --format"),
        (
            "mine",
            "--run --sparse --qrels --corpus --depth --negatives --per-positive --scores --seed --output",
        ),
        ("eval", "--qrels --measures --per-query --significance --format --skip-bad-lines"),
        ("eval", "--remove-query --groups --baseline --keep --trec-eval --relevance-level --depth"),
        ("ranks", "--dense --query-vectors --queries --qrels --document-groups --measures --relevance-level"),
        ("accuracy", "--queries --corpus --matching --measures --groups --group-by-file --keep"),
        ("compare", "--qrels --baseline --tests --correction --equivalence --power --format"),
        ("qrels", "diff"),
        ("qrels diff", "--relevance-level --qrels-format --skip-bad-lines"),
        ("qrels answers", "--queries --corpus --matching --depth --keep --output"),
        ("report", "--qrels --queries --corpus --measures --baseline --groups --test --output --data"),
        ("annotate", "packages agreement vote"),
        ("bench", "encode rerank retrieve search sparse"),
        ("bench sparse", "--sparse --queries --first --k --seconds --plot --ranker --no-verify"),
        (
            "bench retrieve",
            "--sparse --dense --model --queries --first --k --rerank --corpus --depth --seconds",
        ),
        ("bench encode", "--model --lengths --corpus --passages --seconds --plot --dtype"),
        (
            "bench search",
            "--vectors --scan --codes --dim --store-dtype --seed --dense --query-vectors --queries --k \
             --seconds --plot",
        ),
        ("depth", "--qrels --measure --depths --first-stage --oracle --plot --format --digits"),
        ("diff", "--qrels --measure --queries --corpus --show --limit --top --format --tally"),
        ("run", "<RECIPE> --work --set --cell --dry-run --force --json"),
        (
            "data",
            "list stats beir msmarco mrtydi tydi miracl bright tevatron psgs dureader t2ranking entityquestions",
        ),
        ("data", "reqa squad"),
        ("data list", "NAME INPUT"),
        ("data stats", "--corpus --queries --qrels --query-vectors --relevance-level --plot"),
        ("data beir", "<INPUT>... --output --overwrite --split --known"),
        (
            "data paq",
            "--corpus --corpus-format --train --dev --test --min-questions --seed --output --overwrite",
        ),
        ("store plot", "--output --groups --sample --perplexity --seed --no-verify"),
        ("data tydi", "--train --dev --language --output --overwrite --seed"),
        ("data reqa", "--output --overwrite --unique-questions --natural-questions --sentences"),
        (
            "data passages",
            "<DOCUMENTS>... --words --sentences --characters --stride --sentence-rules --delimiter --output --overwrite",
        ),
        ("data squad", "<INPUT>... --output --overwrite --no-titles"),
        ("data dureader", "label pool similar read write predict domain"),
        ("data dureader label", "--threshold --strict --unit --length --titles"),
        ("data t2ranking", "collection segment deduplicate uncertain"),
        (
            "data t2ranking segment",
            "<DOCUMENTS>... --model --sigma --label --max-length --stride --device --output",
        ),
        ("data t2ranking deduplicate", "<RUN> --passage-vectors --distance"),
        ("data entityquestions", "questions buckets results"),
        ("data entityquestions buckets", "--frequencies --seen --buckets --sample --seed"),
        ("convert", "<CHECKPOINT> --output --config --vocab --prefix --allow-unexpected"),
        ("models", "--json"),
        ("verify", "--model --expected"),
        (
            "serve",
            "--model --reranker --dense --sparse --corpus --host --port --api-key-file --drain-seconds",
        ),
        ("train", "dual cross token"),
        (
            "train dual",
            "--model --data --queries --corpus --qrels --negatives --output --config --loss --only",
        ),
        ("train cross", "--model --data --output --epochs --steps --batch-size --lr --seed --loss"),
        ("train token", "--model --data --dev-data --output --config --epochs --eval-every --save-last"),
        ("store", "import export info verify status push pull"),
        ("store push", "<STORE> <URL> --overwrite"),
        ("store pull", "<URL> <STORE>"),
        ("merge", "<PART>... --output --overwrite"),
        ("slurm", "encode search"),
        ("slurm encode", "--shards --sbatch --output"),
        ("doctor", ""),
        ("completions", "bash zsh fish"),
    ];
    let workspace = Workspace::new();
    for (command, flags) in COMMANDS {
        let help = workspace.runs(&format!("{command} --help"));
        assert_eq!(help.stderr, "");
        let words: BTreeSet<&str> =
            help.stdout.split(|c: char| c.is_whitespace() || ",[]".contains(c)).collect();
        for flag in flags.split_whitespace() {
            assert!(words.contains(flag), "toller {command} --help does not name {flag}:\n{}", help.stdout);
        }
        assert!(words.contains("Usage:") && words.contains("--json"), "{command}");
    }
    // No command is left out above.
    let help = workspace.runs("help").stdout;
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed: BTreeSet<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    let tested =
        COMMANDS.iter().filter_map(|(command, _)| command.split(' ').next()).filter(|name| !name.is_empty());
    assert_eq!(listed, tested.chain(["help"]).collect());
}

#[test]
fn version_and_doctor_work_without_a_model() {
    let workspace = Workspace::new();
    let version = workspace.runs("--version");
    assert_eq!(version.stdout, format!("toller {}\n", env!("CARGO_PKG_VERSION")));
    let doctor = workspace.runs("doctor");
    for row in ["toller ", "GPU ", "CPU ", "hub cache ", "known models "] {
        assert!(
            doctor.stdout.lines().any(|line| line.starts_with(row)),
            "{row:?} is not in\n{}",
            doctor.stdout
        );
    }
}
