//! Object stores: input at URLs, and stores that are sent and fetched.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use toller_testing::{Fault, ObjectServer};

use crate::support::{Finished, Workspace};

/// A workspace with XQuAD-R, and a server that has its files too: the corpus compressed and in two parts.
fn start() -> (Workspace, ObjectServer) {
    let workspace = Workspace::with_xquad();
    let server = ObjectServer::start(&["bucket"]).unwrap();
    workspace.head("data/corpus.jsonl", 300, "corpus.jsonl");
    let lines = workspace.lines("corpus.jsonl");
    let (first, second) = (lines[..200].join("\n") + "\n", lines[200..].join("\n") + "\n");
    server.write("bucket/corpus/part-0.jsonl.gz", crate::support::gzip(first.as_bytes()));
    server.write("bucket/corpus/part-1.jsonl", second);
    for name in ["queries.jsonl", "qrels.txt"] {
        server.write(&format!("bucket/{name}"), workspace.read(&format!("data/{name}")));
    }
    (workspace, server)
}

fn command(workspace: &Workspace, server: &ObjectServer, arguments: &str) -> Command {
    let mut command = workspace.command(arguments);
    command.envs(server.variables());
    command
}

fn toller(workspace: &Workspace, server: &ObjectServer, arguments: &str) -> Finished {
    Finished::new(command(workspace, server, arguments).output().unwrap())
}

const ENCODE: &str = "encode -q --model tiny-bert --rows-per-shard 64 --corpus";

#[test]
fn commands_read_objects_as_they_read_files() {
    let (workspace, server) = start();
    workspace.add_fixture("cross-encoders/mpnet");
    workspace.runs(&format!("{ENCODE} corpus.jsonl --output local"));
    server.fail(Fault::CutsBody, "GET bucket/corpus/part-0", 2);
    toller(&workspace, &server, &format!("{ENCODE} s3://bucket/corpus/ --output remote")).succeeds();
    assert!(workspace.files_in("local") == workspace.files_in("remote"));
    let pattern = format!("{ENCODE} s3://bucket/corpus/*.jsonl* --output remote");
    toller(&workspace, &server, &pattern.replace("-q", "")).succeeds().says(["nothing to do"]);

    let search = |queries: &str, run: &str| {
        format!("search -q --dense local --model tiny-bert --k 5 --queries {queries} --output {run}")
    };
    workspace.runs(&search("data/queries.jsonl", "local.run"));
    toller(&workspace, &server, &search("s3://bucket/queries.jsonl", "remote.run")).succeeds();
    assert!(workspace.read("local.run") == workspace.read("remote.run"));
    server.write("bucket/a.run", workspace.read("local.run"));

    let eval = |qrels: &str| format!("eval local.run --qrels {qrels} --format json");
    let local = workspace.runs(&eval("data/qrels.txt"));
    let remote = toller(&workspace, &server, &eval("s3://bucket/qrels.txt")).succeeds();
    assert_eq!(local.json()["runs"], remote.json()["runs"]);
    toller(&workspace, &server, "eval s3://bucket/a.run --qrels s3://bucket/qrels.txt").succeeds();

    let rerank = "rerank -q --model cross-encoders/mpnet --run local.run --queries data/queries.jsonl --depth 2 --truncation longest_first \
                  --corpus {} --output reranked.run";
    workspace.runs(&rerank.replace("{}", "corpus.jsonl"));
    let expected = workspace.read("reranked.run");
    let remote = rerank.replace("{}", "s3://bucket/corpus/");
    toller(&workspace, &server, &remote).succeeds();
    assert!(workspace.read("reranked.run") == expected);
}

#[test]
fn what_cannot_be_read_has_a_hint() {
    let (workspace, server) = start();
    workspace.write("a.run", "q1 Q0 d1 1 1.0 a\n");
    let eval = |url: &str| toller(&workspace, &server, &format!("eval a.run --qrels {url}"));
    eval("s3://bucket/none.txt")
        .fails(1, &["cannot open s3://bucket/none.txt: there is no such object", "hint: "]);
    eval("s3://bucket/a//b").fails(1, &["not the URL of an object", "s3://BUCKET/KEY"]);
    let search =
        "search --model tiny-bert --queries data/queries.jsonl --output run.txt --dense s3://bucket/st";
    workspace.toller(search).fails(1, &["s3://bucket/st is not on disk", "hint: ", "`toller store pull`"]);
    let encode = format!("{ENCODE} corpus.jsonl --output s3://bucket/st");
    workspace.toller(&encode).fails(2, &["s3://bucket/st", "`toller store push`"]);
    let mut stranger = command(&workspace, &server, "eval a.run --qrels s3://bucket/qrels.txt");
    let refused = Finished::new(stranger.env("AWS_ACCESS_KEY_ID", "somebody").output().unwrap());
    refused.fails(1, &["s3://bucket/qrels.txt", "403", "hint: ", "AWS_SKIP_SIGNATURE"]);
}

#[test]
fn a_transfer_killed_at_any_moment_goes_on_to_the_same_bytes() {
    let (workspace, server) = start();
    workspace.runs(&format!("{ENCODE} corpus.jsonl --output store"));
    let expected = workspace.files_in("store");
    assert_eq!(expected.len(), 6, "five shards and a manifest");
    server.fail(Fault::Waits(Duration::from_millis(150)), "bucket/st/", 400);
    let kill_at = |request: &str, arguments: &str| {
        let before = server.requests().len();
        let mut command = command(&workspace, &server, arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while !server.requests()[before..].iter().any(|line| line.contains(request)) {
            assert!(began.elapsed() < Duration::from_secs(60), "{:?}", server.requests());
            thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "it was killed before its end");
    };
    const PUSH: &str = "store push store s3://bucket/st";
    const PULL: &str = "store pull s3://bucket/st copy";
    for request in ["PUT bucket/st/manifest.json.sending", "PUT bucket/st/shard", "HEAD bucket/st/shard"] {
        kill_at(request, PUSH);
        toller(&workspace, &server, PULL).fails(1, &["there is no store at s3://bucket/st", "hint: "]);
    }
    workspace.head("corpus.jsonl", 100, "short.jsonl");
    workspace.runs(&format!("{ENCODE} short.jsonl --output other"));
    let other = toller(&workspace, &server, "store push other s3://bucket/st");
    other.fails(1, &["another store is being sent", "--overwrite"]);
    toller(&workspace, &server, PUSH).succeeds().says(["of 5 files"]);
    toller(&workspace, &server, PUSH).succeeds().says(["already there: 5 files"]);

    for request in ["GET bucket/st/manifest.json", "GET bucket/st/shard"] {
        kill_at(request, PULL);
        assert!(!workspace.path("copy/manifest.json").exists(), "{request}");
    }
    toller(&workspace, &server, PULL).succeeds();
    assert!(workspace.files_in("copy") == expected);
    workspace.runs("store verify copy");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_has_arrived() {
    let (workspace, server) = start();
    workspace.runs(&format!("{ENCODE} corpus.jsonl --output store"));
    server.fail(Fault::Waits(Duration::from_millis(300)), "PUT bucket/st/shard", 40);
    let push = "store push store s3://bucket/st";
    let mut command = command(&workspace, &server, push);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !server.requests().iter().any(|line| line.contains("PUT bucket/st/shard")) {
        assert!(began.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(5));
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let stopped = Finished::new(child.wait_with_output().unwrap());
    stopped.fails(130, &["interrupted", "run the command again"]);
    assert!(!server.names().iter().any(|name| name == "bucket/st/manifest.json"));
    toller(&workspace, &server, push).succeeds();
}
