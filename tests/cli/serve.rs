//! `toller serve`: it listens where it says, answers with the bits of the command line, and ends when asked
//! to.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Workspace;

/// A server, and where it listens.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(workspace: &Workspace, arguments: &str) -> Self {
        let mut command = workspace.command(&format!("serve --port 0 --json --log none {arguments}"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let url = lines.find_map(|line| Some(line.split_once("http://")?.1.trim_end_matches('"').to_owned()));
        Self { child, address: url.unwrap() }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (length, body) = (body.to_string().len(), body.to_string());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}"
        );
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).unwrap()
    }

    /// Sends a signal to the server.
    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends the server, and returns its exit status.
    fn end(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.child.wait().unwrap().code()
    }
}

/// What a server says until it serves.
fn said_before_serving(workspace: &Workspace, serve: &str) -> String {
    let mut child = workspace.spawn(serve);
    let mut said = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    while !said.contains("serving on http://127.0.0.1:") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    said
}

#[test]
fn hits_are_those_of_search_before_and_after_a_reload() {
    let workspace = Workspace::with_xquad();
    workspace.runs("encode --model tiny-bert --corpus data/corpus.jsonl --output store");
    workspace.runs("index --language en --corpus data/corpus.jsonl --output index");
    workspace.head("data/queries.jsonl", 20, "queries.jsonl");
    workspace.runs(
        "search --dense store --model tiny-bert --sparse index --fusion rrf --queries queries.jsonl --k 5 --output run",
    );
    let queries: Vec<Value> =
        workspace.lines("queries.jsonl").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = workspace.hits::<f32>("run");
    let serving = Serving::start(
        &workspace,
        "--dense store --sparse index --corpus data/corpus.jsonl --text-index texts",
    );
    for _ in 0..2 {
        for query in &queries {
            let body = json!({ "query": query["text"], "k": 5, "texts": true });
            let answer = serving.post("/v1/search", &body);
            let hit = |hit: &Value| {
                assert!(hit["text"].is_string());
                (hit["id"].as_str().unwrap().to_owned(), hit["score"].as_f64().unwrap() as f32)
            };
            let hits: Vec<_> = answer["results"][0]["hits"].as_array().unwrap().iter().map(hit).collect();
            assert_eq!(Some(&hits), expected.get(query["_id"].as_str().unwrap()));
        }
        serving.signal("-HUP");
    }
    assert_eq!(serving.end(), Some(0));
}

#[test]
fn a_reload_sees_new_files_of_a_folder() {
    let workspace = Workspace::new();
    workspace.write(
        "all.jsonl",
        "{\"_id\": \"a\", \"text\": \"ducks\"}\n{\"_id\": \"b\", \"text\": \"tollers\"}\n",
    );
    workspace.runs("index --language en --corpus all.jsonl --output index");
    std::fs::create_dir(workspace.path("folder")).unwrap();
    workspace.head("all.jsonl", 1, "folder/1.jsonl");
    let serving = Serving::start(&workspace, "--sparse index --corpus folder");
    let text = |query: &str| {
        let answer = serving.post("/v1/search", &json!({ "query": query, "texts": true }));
        answer["results"][0]["hits"][0]["text"].as_str().map(str::to_owned)
    };
    assert_eq!((text("ducks").as_deref(), text("tollers")), (Some("ducks"), None));
    workspace.write("folder/2.jsonl", "{\"_id\": \"b\", \"text\": \"tollers\"}\n");
    serving.signal("-HUP");
    let deadline = Instant::now() + Duration::from_secs(30);
    while text("tollers").is_none() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(text("ducks").as_deref(), Some("ducks"));
    assert_eq!(serving.end(), Some(0));
}

#[test]
fn bad_lines_of_queries_and_judgments_are_skipped_if_that_is_asked_for() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("runs")).unwrap();
    workspace.write("runs/a.run", "q1 Q0 a 1 2.0 t\n");
    workspace.write("qrels", "q1 0 a 1\nq2 0 a x\n");
    workspace.write("queries.tsv", "q1\tducks\nq2\n");
    let serve = "serve --port 0 --runs runs --qrels qrels --queries queries.tsv";
    workspace.toller(serve).fails(1, &["qrels, line 2", "--skip-bad-lines"]);
    let said = said_before_serving(&workspace, &format!("{serve} --skip-bad-lines"));
    assert!(said.contains("warning: --qrels: ") && said.contains("warning: --queries: "), "{said}");
}

#[test]
fn a_collection_of_other_documents_is_reported() {
    let workspace = Workspace::with_xquad();
    workspace.runs("index --language en --corpus data/corpus.jsonl --output index");
    workspace.head("data/corpus.jsonl", 590, "half.jsonl");
    workspace.write("other.jsonl", "{\"_id\": \"none\", \"text\": \"of them\"}\n");
    for (corpus, missing) in
        [("half.jsonl", Some("50 of 100")), ("other.jsonl", Some("100 of 100")), ("data/corpus.jsonl", None)]
    {
        let serve =
            format!("serve --host localhost --port 0 --json --log none --sparse index --corpus {corpus}");
        let said = said_before_serving(&workspace, &serve);
        let warning =
            missing.map(|missing| format!("warning: --corpus does not have {missing} documents of --sparse"));
        assert_eq!(said.contains("warning"), missing.is_some(), "{said}");
        assert!(said.contains(&warning.unwrap_or_default()), "{said}");
    }
}

#[test]
fn what_cannot_be_served_is_an_error() {
    let workspace = Workspace::new();
    workspace.write("keys", "abc\n");
    for (arguments, code, said) in [
        ("serve", 2, "give --model, --reranker, --dense, --sparse or --runs"),
        (
            "serve --model tiny-bert --host no.such.name.invalid",
            1,
            "hint: give an address or a name of this machine",
        ),
        ("serve --model tiny-bert --fusion rrf", 2, "two things to search"),
        ("serve --model tiny-bert --api-key-file keys", 1, "read KEY"),
        ("serve --model tiny-bert --dense nothing", 1, "nothing"),
    ] {
        let finished = workspace.toller(arguments);
        assert_eq!(finished.code, Some(code), "{arguments}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{arguments}: {}", finished.stderr);
    }
}
