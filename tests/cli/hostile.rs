//! Files and servers that mean harm, and files that change while they are read: an error, and nothing worse.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Finished, Workspace, copy_folder, fixture};

/// A store that the workspace's model made.
fn with_store() -> Workspace {
    let workspace = Workspace::with_xquad();
    workspace.runs("encode --model tiny-bert --corpus data/corpus.jsonl --output store");
    workspace
}

#[test]
fn a_store_that_is_cut_short_while_it_is_searched_is_an_error() {
    let workspace = with_store();
    let mut search = workspace
        .command("search --dense store --model tiny-bert -q")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut typed = search.stdin.take().unwrap();
    let mut shown = BufReader::new(search.stdout.take().unwrap());
    typed.write_all(b"who was the first\n").unwrap();
    let mut line = String::new();
    shown.read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "the store is open once there is a hit");
    let shard = File::options().write(true).open(workspace.path("store/shard-00000.safetensors"));
    shard.unwrap().set_len(4096).unwrap();
    // It may have ended before everything was written.
    let _ = typed.write_all(b"and who was the second\n");
    drop(typed);
    let ended = Finished::new(search.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    ended.says([
        "shard-00000.safetensors could not be read: it was cut short meanwhile",
        "hint: restore the file",
    ]);
}

#[test]
fn a_named_pipe_is_no_shard() {
    let workspace = with_store();
    for name in ["store/shard-00000.safetensors", "store/manifest.json"] {
        fs::remove_file(workspace.path(name)).unwrap();
        assert!(Command::new("mkfifo").arg(workspace.path(name)).status().unwrap().success());
        let search = "search --dense store --model tiny-bert --queries data/queries.jsonl --output run.txt";
        for command in ["store verify store", search] {
            // A damaged shard is a result of `verify`, on stdout.
            let done = workspace.toller(command);
            let said = done.stdout + &done.stderr;
            assert!(said.contains(name) && said.contains("it is not a regular file"), "{said}");
            assert_eq!(done.code, Some(1));
        }
    }
}

#[test]
fn names_from_files_do_not_command_the_terminal() {
    let workspace = Workspace::with_xquad();
    let name = "\x1b]0;pwn\x07\x1b[31mred";
    copy_folder(&fixture("tiny-bert"), &workspace.path(name));
    let mut encode = workspace.command("encode --corpus data/corpus.jsonl --output store --model");
    Finished::new(encode.arg(name).output().unwrap()).succeeds();
    let info = workspace.runs("store info store");
    assert!(!info.stdout.contains(['\x1b', '\x07']), "{:?}", info.stdout);
    info.prints([r"\u{1b}]0;pwn\u{7}\u{1b}[31mred"]);
    let other = workspace.toller(
        "search --dense store --model tiny-bert --max-length 7 --queries data/queries.jsonl --output run.txt",
    );
    assert!(!other.stderr.contains(['\x1b', '\x07']), "{:?}", other.stderr);
}

#[test]
fn a_model_does_not_reach_out_of_its_directory() {
    let workspace = Workspace::with_xquad();
    copy_folder(&fixture("tiny-bert/1_Pooling"), &workspace.path("outside"));
    let modules = String::from_utf8(workspace.read("tiny-bert/modules.json")).unwrap();
    let outside = workspace.path("outside").display().to_string();
    for path in ["../outside", outside.as_str()] {
        workspace.write("tiny-bert/modules.json", modules.replace("1_Pooling", path));
        workspace
            .toller("encode --model tiny-bert --corpus data/corpus.jsonl --output store")
            .fails(1, &["modules.json: the path", "leads out of the model's directory"]);
    }
}

#[test]
fn an_index_does_not_cause_a_download() {
    let workspace = Workspace::with_xquad();
    let (commit, cached) = ("0123456789abcdef0123456789abcdef01234567", "no-hub-cache/models--org--name");
    for folder in ["refs", "snapshots"] {
        fs::create_dir_all(workspace.path(cached).join(folder)).unwrap();
    }
    workspace.write(&format!("{cached}/refs/main"), commit);
    copy_folder(&fixture("tiny-bert"), &workspace.path(&format!("{cached}/snapshots/{commit}")));
    workspace.runs("index --corpus data/corpus.jsonl --analyzer wordpiece:org/name --output index");
    fs::remove_dir_all(workspace.path("no-hub-cache")).unwrap();
    let hub = TcpListener::bind("127.0.0.1:0").unwrap();
    hub.set_nonblocking(true).unwrap();
    let mut search = workspace.command("search --sparse index --queries data/queries.jsonl --output run.txt");
    let endpoint = format!("http://{}", hub.local_addr().unwrap());
    search.env("HF_HUB_OFFLINE", "0").env("HF_ENDPOINT", endpoint);
    Finished::new(search.output().unwrap()).fails(
        1,
        &["the analyzer wordpiece:org/name", "if you trust the index", "`--analyzer wordpiece:MODEL`"],
    );
    assert!(hub.accept().is_err(), "the hub was asked");
}

#[test]
fn one_ctrl_c_ends_a_wait_for_the_hub() {
    let workspace = Workspace::with_xquad();
    // It takes the request and never answers.
    let hub = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut encode = workspace.command("encode --model org/name --corpus data/corpus.jsonl --output store");
    let endpoint = format!("http://{}", hub.local_addr().unwrap());
    encode.env("HF_HUB_OFFLINE", "0").env("HF_ENDPOINT", endpoint).env("HF_HUB_ETAG_TIMEOUT", "60");
    let encode = encode.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _asked = hub.accept().unwrap();
    let sent = Instant::now();
    let status = Command::new("kill").args(["-INT", &encode.id().to_string()]).status();
    assert!(status.unwrap().success());
    let ended = Finished::new(encode.wait_with_output().unwrap());
    ended.fails(130, &["interrupted; run the same command again: what was downloaded is kept"]);
    assert!(sent.elapsed() < Duration::from_secs(20), "it waited for the hub");
}

#[test]
fn ctrl_c_twice_ends_a_command_whose_stderr_takes_nothing() {
    let workspace = Workspace::with_xquad();
    // It is full: who writes to it waits for ever.
    let (_reader, mut stderr) = io::pipe().unwrap();
    stderr.write_all(&[b'.'; 1 << 16]).unwrap();
    let encode = "encode --model tiny-bert --corpus data/corpus.jsonl --output store";
    let mut encode = workspace.command(encode).stderr(stderr).spawn().unwrap();
    let begun = Instant::now();
    let has_time = || assert!(begun.elapsed() < Duration::from_secs(60), "it does not end");
    let status = format!("/proc/{}/status", encode.id());
    let listens = || {
        let status = fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        // The second bit is SIGINT's.
        u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
    };
    while !listens() {
        has_time();
        thread::sleep(Duration::from_millis(10));
    }
    let ended = loop {
        has_time();
        let sent = Command::new("kill").args(["-INT", &encode.id().to_string()]).status();
        assert!(sent.unwrap().success());
        thread::sleep(Duration::from_millis(500));
        if let Some(ended) = encode.try_wait().unwrap() {
            break ended;
        }
    };
    assert_eq!(ended.code(), Some(130));
}

#[test]
fn an_output_that_cannot_be_written_is_named_and_not_praised() {
    let workspace = with_store();
    let search = "search --dense store --model tiny-bert --queries data/queries.jsonl --k 1 --output";
    workspace.runs(&format!("{search} run.txt"));
    let failed = workspace.toller(&format!("{search} /dev/full"));
    assert!(!failed.stderr.contains("hits in"), "{}", failed.stderr);
    failed.fails(1, &["error: cannot write /dev/full"]);
    for format in ["html", "text", "json", "csv"] {
        let diff = "diff run.txt run.txt --qrels data/qrels.txt --output /dev/full --show all --format";
        workspace
            .toller(&format!("{diff} {format}"))
            .fails(1, &["error: cannot write /dev/full: No space left", "hint: free some space"]);
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let workspace = Workspace::new();
    for arguments in ["--help", "search --help", "--version"] {
        let full = File::create("/dev/full").unwrap();
        let failed = Finished::new(workspace.command(arguments).stdout(full).output().unwrap());
        failed.fails(1, &["error: cannot write standard output: No space left"]);
        workspace.runs(arguments);
    }
    workspace.toller("search --no-such-flag").fails(2, &["--no-such-flag"]);
}

#[test]
fn results_for_a_closed_stdout_are_an_error() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "1 0 d 1\n");
    workspace.write("run.txt", "1 Q0 d 1 1.0 x\n");
    let closed = |arguments: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" >&-", env!("CARGO_BIN_EXE_toller")]);
        shell.args(arguments.split(' ')).current_dir(workspace.path(""));
        Finished::new(shell.output().unwrap())
    };
    for arguments in
        ["eval --qrels qrels.txt run.txt", "eval --qrels qrels.txt run.txt --json", "eval --help"]
    {
        closed(arguments).fails(1, &["cannot write standard output: it is closed"]);
    }
    // Who needs no stdout does not miss it.
    closed("fuse run.txt run.txt --method rrf --output fused.run").succeeds();
    assert_eq!(workspace.lines("fused.run").len(), 1);
}

#[test]
fn a_pipe_that_is_closed_loses_a_result_only_if_it_has_a_name() {
    let workspace = Workspace::new();
    let run: String = (0..20_000).map(|query| format!("{query} Q0 d 1 1.0 x\n")).collect();
    workspace.write("run.txt", run);
    workspace.write("qrels.txt", (0..20_000).map(|query| format!("{query} 0 d 1\n")).collect::<String>());
    assert!(Command::new("mkfifo").arg(workspace.path("named")).status().unwrap().success());
    let shell = |line: &str| {
        let mut shell = Command::new("bash");
        shell.args(["-c", line, env!("CARGO_BIN_EXE_toller")]).current_dir(workspace.path(""));
        Finished::new(shell.output().unwrap())
    };
    for flags in ["", "--json"] {
        let line =
            format!("head -c 10 named >&2 & \"$0\" fuse run.txt run.txt --method rrf --output named {flags}");
        shell(&line).fails(1, &["cannot write named: Broken pipe"]);
    }
    for command in [
        "fuse run.txt run.txt --method rrf --output -",
        "fuse run.txt run.txt --method rrf --output /dev/stdout",
        "eval --trec-eval -q qrels.txt run.txt",
        "eval --qrels qrels.txt run.txt --per-query --format csv",
    ] {
        let ended = shell(&format!("\"$0\" {command} | head -n 1; exit ${{PIPESTATUS[0]}}")).succeeds();
        assert_eq!((ended.stdout.lines().count(), &*ended.stderr), (1, ""));
    }
}

#[test]
fn numbers_of_a_model_that_make_no_sense_are_refused() {
    let sets = [
        ("sentence_bert_config.json", "\"max_seq_length\": 96", "\"max_seq_length\": 0"),
        ("tokenizer_config.json", "\"model_max_length\": 128", "\"model_max_length\": -5"),
        ("config.json", "\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": 1e300"),
    ];
    for (name, from, to) in sets {
        let workspace = Workspace::with_xquad();
        let file = format!("tiny-bert/{name}");
        let text = String::from_utf8(workspace.read(&file)).unwrap();
        assert!(text.contains(from), "{text}");
        workspace.write(&file, text.replace(from, to));
        let (field, _) = to.trim_start_matches('"').split_once('"').unwrap();
        workspace
            .toller("encode --model tiny-bert --corpus data/corpus.jsonl --output store")
            .fails(1, &[name, field]);
    }
}

#[test]
fn a_model_of_zeros_is_loaded_with_a_warning() {
    let workspace = Workspace::with_xquad();
    let mut weights = workspace.read("tiny-bert/model.safetensors");
    let header = 8 + u64::from_le_bytes(weights[..8].try_into().unwrap()) as usize;
    weights[header..].fill(0);
    workspace.write("tiny-bert/model.safetensors", weights);
    workspace.head("data/corpus.jsonl", 5, "corpus.jsonl");
    workspace
        .runs("encode --model tiny-bert --corpus corpus.jsonl --output store")
        .says(["warning: 5 vectors of tiny-bert are all zeros"]);
}

#[test]
fn a_grade_out_of_range_says_the_range() {
    let workspace = Workspace::new();
    workspace.write("qrels.txt", "1 0 d 2147483648\n");
    workspace.write("run.txt", "1 Q0 d 1 1.0 x\n");
    workspace
        .toller("eval --qrels qrels.txt run.txt")
        .fails(1, &["2147483648", "an integer from -2147483648 to 2147483647"]);
}
