//! Keys, limits, reloads.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toller_server::{Keys, Limits};

use crate::support::{Running, read_answer};

#[test]
fn keys_open_what_they_are_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, "read reader\nadmin chief\n").unwrap();
    let keys = Keys::read(&path).unwrap();
    let server = Running::with(Limits::default(), Some(keys), Duration::from_secs(20));
    let ask = |path: &str, key: Option<&str>| {
        let bearer = key.map(|key| format!("Bearer {key}"));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        server.client().send("POST", path, &headers, b"{\"inputs\": \"x\"}")
    };
    let refused = ask("/embed", None);
    assert_eq!((refused.status, refused.json()["error_type"].as_str()), (401, Some("Validation")));
    assert_eq!(refused.headers["www-authenticate"], "Bearer");
    assert_eq!(ask("/embed", Some("wrong")).status, 401);
    assert_eq!(ask("/embed", Some("reader")).status, 200);
    assert_eq!(ask("/embed", Some("chief")).status, 200);
    assert_eq!(ask("/v1/embeddings", None).json()["error"]["code"], "invalid_api_key");
    // OpenAI's clients always send a bearer.
    let both =
        [("content-type", "application/json"), ("authorization", "Bearer none"), ("x-api-key", "reader")];
    assert_eq!(server.client().send("POST", "/embed", &both, b"{\"inputs\": \"x\"}").status, 200);
    assert_eq!(ask("/admin/reload", None).status, 401);
    assert_eq!(ask("/admin/reload", Some("reader")).status, 403);
    assert_eq!(ask("/admin/reload", Some("chief")).ok()["systems"], json!(["hybrid", "dense", "sparse"]));
    let document = server.get("/openapi.json").ok();
    let required = document["security"].as_array().unwrap();
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    assert_eq!((required.len(), schemes.len()), (3, 3));
    for scheme in required.iter().flat_map(|required| required.as_object().unwrap().keys()) {
        assert!(schemes.contains_key(scheme), "{scheme}");
    }
    for open in ["/health", "/livez", "/readyz", "/metrics"] {
        assert_eq!(server.get(open).status, 200, "{open}");
        assert_eq!(document["paths"][open]["get"]["security"][0], json!({}), "{open}");
    }
}

#[test]
fn a_local_server_without_keys_answers_to_no_name_of_a_site() {
    let server = Running::start();
    let ask = |server: &Running, path: &str, host: &str| {
        server.client().send("GET", path, &[("host", host), ("x-api-key", "reader")], b"")
    };
    for path in ["/", "/info", "/metrics", "/v1/documents/d0", "/openapi.json", "/nowhere"] {
        let refused = ask(&server, path, "evil.example:3000");
        assert_eq!((refused.status, refused.json()["kind"].as_str()), (403, Some("forbidden")), "{path}");
        for own in ["localhost:3000", "127.0.0.1:3000", "[::1]", "192.0.2.7", "toller.localhost"] {
            assert_ne!(ask(&server, path, own).status, 403, "{path} {own}");
        }
    }
    // A key keeps pages of other sites out, and a proxy may have any name.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, "read reader\n").unwrap();
    let keys = Keys::read(&path).unwrap();
    let server = Running::with(Limits::default(), Some(keys), Duration::from_secs(20));
    assert_eq!(ask(&server, "/info", "search.example").status, 200);
}

#[test]
fn limits_are_kept() {
    let limits = Limits { body_bytes: 3000, texts: 3, truncate: false, k: 5, ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let long = "ducks ".repeat(400);
    let cases = [
        ("/embed", json!({ "inputs": "x".repeat(4000) }), 413),
        ("/embed", json!({ "inputs": ["a", "b", "c", "d"] }), 413),
        ("/embed", json!({ "inputs": [] }), 400),
        ("/embed", json!({ "inputs": long }), 413),
        ("/embed", json!({ "inputs": long, "truncate": true }), 200),
        ("/embed", json!({ "inputs": long, "truncate": true, "truncation_direction": "Left" }), 200),
        ("/embed", json!({ "inputs": [1, 2, 3] }), 422),
        ("/embed", json!({ "inputs": "a", "dimensions": 0 }), 413),
        ("/embed", json!({ "inputs": "a", "dimensions": 100_000 }), 413),
        ("/embed", json!({ "inputs": "a", "prompt_name": "poem" }), 413),
        ("/v1/embeddings", json!({ "input": "a", "model": "other" }), 404),
        ("/v1/embeddings", json!({ "input": [[1, 2]], "model": "tiny-bert" }), 400),
        ("/rerank", json!({ "query": "a", "texts": ["b"], "documents": ["b"] }), 422),
        ("/v1/search", json!({ "query": "a", "k": 6 }), 422),
        ("/v1/search", json!({ "query": "a", "k": 0 }), 422),
        ("/v1/search", json!({ "query": "a", "unknown": 0 }), 422),
        ("/nowhere", json!({}), 404),
    ];
    for (path, body, status) in cases {
        let answer = server.post(path, &body);
        assert_eq!(answer.status, status, "{path} {}", String::from_utf8_lossy(&answer.body));
    }
    let form = server.client().send("POST", "/embed", &[("content-type", "text/plain")], b"{}");
    assert_eq!(form.status, 415);
    let deep = format!("{{\"inputs\": {}1{}}}", "[".repeat(1000), "]".repeat(1000));
    let headers = [("content-type", "application/json")];
    assert_eq!(server.client().send("POST", "/embed", &headers, deep.as_bytes()).status, 400);
    let late = [headers[0], ("x-timeout-ms", "0")];
    assert_eq!(server.client().send("POST", "/embed", &late, b"{\"inputs\": \"a\"}").status, 504);
    let foreign = [headers[0], ("origin", "https://evil.example")];
    assert_eq!(server.client().send("POST", "/mcp", &foreign, b"{\"method\": \"ping\"}").status, 403);
}

#[test]
fn ids_of_tokens_are_those_of_tokenize() {
    let limits = Limits { allow_token_ids: true, ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let text = "A toller lures ducks.";
    let tokens = server.post("/tokenize", &json!({ "inputs": text })).ok();
    let ids: Vec<u64> =
        tokens[0].as_array().unwrap().iter().map(|token| token["id"].as_u64().unwrap()).collect();
    let by_text = server.post("/embed", &json!({ "inputs": text })).ok();
    assert_eq!(server.post("/embed", &json!({ "inputs": ids })).ok(), by_text);
    assert_eq!(server.post("/embed", &json!({ "inputs": [ids] })).ok(), by_text);
    assert_eq!(server.post("/embed", &json!({ "inputs": [4_000_000_000_u32] })).status, 413);
    // Cut like texts.
    let text = format!("dogs {} lakes", "ducks ".repeat(400));
    let tokens = server.post("/tokenize", &json!({ "inputs": text })).ok();
    let ids: Vec<&Value> = tokens[0].as_array().unwrap().iter().map(|token| &token["id"]).collect();
    for side in ["left", "right"] {
        let embedded = |inputs: Value| {
            server.post("/embed", &json!({ "inputs": inputs, "truncation_direction": side })).ok()
        };
        assert_eq!(embedded(json!(ids)), embedded(json!(text)), "{side}");
    }
    assert_eq!(server.post("/embed", &json!({ "inputs": ids, "truncate": false })).status, 413);
}

#[test]
fn the_hits_of_a_request_are_limited_together() {
    let limits = Limits { texts: 5000, queued_queries: 5000, ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let ask = |queries: usize, k: usize, texts: bool| {
        let queries = vec!["ducks"; queries];
        let body = json!({ "query": queries, "k": k, "texts": texts, "system": "sparse" });
        server.post("/v1/search", &body)
    };
    assert_eq!(ask(2, 5000, true).ok()["results"][1]["hits"].as_array().unwrap().len(), 2);
    for (queries, texts, most) in
        [(2001, true, "may have 10000 with texts"), (4001, false, "may have 2000000")]
    {
        let k = if texts { 5 } else { 500 };
        let refused = ask(queries, k, texts);
        let said = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(refused.status == 422 && said.contains(most), "{said}");
    }
    assert_eq!(ask(2001, 5, false).status, 200);
    let said = ask(1, 3_000_000, false).json()["error"].as_str().unwrap().to_owned();
    assert_eq!(said, "`k` is 3000000; it is from 1 to 10000");
}

#[test]
fn slow_clients_are_shown_the_door() {
    let brief = Duration::from_millis(300);
    let limits = Limits { head_timeout: brief, body_timeout: brief, ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let connect = || {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    };
    let mut head = connect();
    head.write_all(b"POST /embed HTTP/1.1\r\nhost:").unwrap();
    let started = Instant::now();
    let mut rest = Vec::new();
    head.read_to_end(&mut rest).unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
    let mut body = connect();
    body.write_all(b"POST /embed HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{").unwrap();
    assert_eq!(read_answer(&mut BufReader::new(body)).unwrap().0.status, 408);
    // A connection that asks nothing more.
    let mut idle = BufReader::new(connect());
    idle.get_mut().write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert_eq!(read_answer(&mut idle).unwrap().0.status, 200);
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn a_reload_serves_what_is_there_now_and_fails_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, "admin chief\n").unwrap();
    let server = Running::with(Limits::default(), Some(Keys::read(&path).unwrap()), Duration::from_secs(20));
    let headers = [("content-type", "application/json"), ("x-api-key", "chief")];
    let body = b"{\"query\": \"ducks\", \"k\": 2, \"texts\": true}";
    let before: Value = server.client().send("POST", "/v1/search", &headers, body).ok();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = server.client();
                for _ in 0..50 {
                    let answer = client.send("POST", "/v1/search", &headers, body).ok();
                    assert_eq!(answer["results"], before["results"]);
                }
            });
        }
        for _ in 0..5 {
            assert_eq!(server.client().send("POST", "/admin/reload", &headers, b"").status, 200);
        }
    });
    // What cannot be opened leaves what was served before.
    std::fs::remove_dir_all(server.folder.path().join("index")).unwrap();
    let failed = server.client().send("POST", "/admin/reload", &headers, b"");
    assert_eq!(failed.status, 500);
    assert_eq!(failed.json()["kind"], "backend");
    assert_eq!(server.client().send("POST", "/v1/search", &headers, body).ok()["results"], before["results"]);
}
