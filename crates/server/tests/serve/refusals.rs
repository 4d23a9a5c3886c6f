//! What is wrong with a request of HTTP is said in JSON, and long queries are cut or refused.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use toller_server::{Limits, Systems};

use crate::support::{Running, read_answer};

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn wrong_http_is_explained_in_json() {
    let server = Running::start();
    let kind = |method: &str, path: &str, status: u16| {
        let answer = server.client().send(method, path, &[], b"");
        assert_eq!(answer.status, status, "{method} {path}");
        answer.json()["kind"].as_str().unwrap().to_owned()
    };
    assert_eq!(kind("PUT", "/embed", 405), "method_not_allowed");
    assert_eq!(kind("GET", "/v1/search", 405), "method_not_allowed");
    assert_eq!(kind("GET", "/v1/documents/%ff", 400), "syntax");
    assert_eq!(kind("GET", "/v1/sparse/doc/%ff", 400), "syntax");
    assert_eq!(kind("GET", "/v1/sparse/search?query=%FF", 400), "syntax");
    assert_eq!(kind("GET", "/v1/runs/report?run=%FF", 400), "syntax");
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains("method=\"PUT\",status=\"405\""), "{metrics}");
}

#[test]
fn parameters_that_pyserini_does_not_have_are_named() {
    let server = Running::start();
    for (path, named) in [
        ("/v1/sparse/search?query=ducks&k=2", ["`k`", "`query`, `hits`, `parse`"]),
        ("/v1/sparse/doc/d0?format=text", ["`format`", "expected `parse`"]),
    ] {
        let refused = server.get(path);
        let said = refused.json()["error"].as_str().unwrap().to_owned();
        assert_eq!(refused.status, 400, "{said}");
        assert!(named.iter().all(|name| said.contains(name)), "{said}");
    }
}

#[test]
fn a_body_may_have_a_byte_order_mark_but_no_encoding() {
    let server = Running::start();
    let marked = server.client().send("POST", "/embed", &[JSON], "\u{feff}{\"inputs\": \"a\"}".as_bytes());
    assert_eq!(marked.status, 200);
    let body = b"{\"inputs\": \"a\"}";
    let packed = server.client().send("POST", "/embed", &[JSON, ("content-encoding", "gzip")], body);
    assert_eq!(packed.status, 415);
    assert_eq!(packed.headers["accept-encoding"], "identity");
    assert!(packed.json()["error"].as_str().unwrap().contains("Content-Encoding \"gzip\""));
    let plain = server.client().send("POST", "/embed", &[JSON, ("content-encoding", "identity")], body);
    assert_eq!(plain.status, 200);
}

#[test]
fn a_refusal_reaches_a_client_that_first_sends_its_whole_body() {
    let server = Running::start();
    let mut client = server.client();
    // More than the buffers of a connection hold.
    let body = vec![b' '; 64 << 20];
    assert_eq!(client.send("POST", "/embed", &[("content-type", "text/plain")], &body).status, 415);
    // The connection stays open.
    assert_eq!(client.send("POST", "/embed", &[JSON], &body).status, 413);
    assert_eq!(client.send("POST", "/nowhere", &[JSON], &body).status, 404);
    assert_eq!(client.send("POST", "/embed", &[JSON], b"{\"inputs\": \"a\"}").status, 200);
}

#[test]
fn a_client_that_asks_first_is_refused_before_it_sends_its_body() {
    let server = Running::start();
    let mut stream = BufReader::new(TcpStream::connect(server.address).unwrap());
    // Much less than the server waits for a body.
    stream.get_ref().set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let head = "POST /embed HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n\
                content-length: 1000000\r\nexpect: 100-continue\r\n\r\n";
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().0.status, 415);
}

#[test]
fn what_is_no_message_gets_an_error_of_json_rpc() {
    let server = Running::start();
    for (body, code) in [("{\"id\": 1,", -32700), ("[]", -32600), ("7", -32600), ("{\"id\": 1}", -32600)] {
        let answer = server.client().send("POST", "/mcp", &[JSON], body.as_bytes());
        assert_eq!(answer.status, 400, "{body}");
        let said = answer.json();
        assert_eq!((&said["error"]["code"], &said["id"]), (&json!(code), &Value::Null), "{body}");
    }
}

#[test]
fn an_input_without_tokens_is_empty() {
    let limits = Limits { allow_token_ids: true, ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let refused = server.post("/embed", &json!({ "inputs": [[1, 2], []] }));
    assert_eq!((refused.status, refused.json()["error_type"].as_str()), (400, Some("Empty")));
}

#[test]
fn a_query_that_is_too_long_is_cut_or_refused_alone() {
    let long = "who lures ducks? ".repeat(400);
    let rerank = json!({ "query": long, "texts": ["a toller", "a list"] });
    let search = json!({ "query": [long, "ducks"], "rerank": true, "k": 3, "system": "sparse" });
    let server = Running::start();
    assert_eq!(server.post("/rerank", &rerank).ok().as_array().unwrap().len(), 2);
    let pair = json!({ "inputs": [[long, "a toller"]] });
    assert_eq!(server.post("/predict", &pair).status, 200);
    let found = server.post("/v1/search", &search).ok();
    let alone = json!({ "query": "ducks", "rerank": true, "k": 3, "system": "sparse" });
    assert_eq!(found["results"][1], server.post("/v1/search", &alone).ok()["results"][0]);
    let mut uncut = rerank.clone();
    uncut["truncate"] = json!(false);
    assert_eq!(server.post("/rerank", &uncut).status, 413);
    let limits = Limits { truncate: false, ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    assert_eq!(server.post("/rerank", &rerank).status, 413);
    assert_eq!(server.post("/v1/search", &search).status, 422);
    let ask = |system: &str, query: &str| {
        server.post("/v1/search", &json!({ "query": ["ducks", query], "system": system }))
    };
    for system in ["dense", "hybrid"] {
        assert_eq!(ask(system, "a dog").status, 200, "{system}");
        let refused = ask(system, &long);
        let said = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(refused.status == 422 && said.starts_with("query 1 has more than"), "{system} {said}");
    }
    assert_eq!(ask("sparse", &long).status, 200, "an inverted index has no length");
}

#[test]
fn a_filter_is_made_by_the_deadline_for_what_can_be_searched() {
    let server = Running::start();
    let ask = |k: usize| {
        let body = json!({ "query": "ducks", "k": k, "filter": { "ids": ["d0"] } }).to_string();
        server.client().send("POST", "/v1/search", &[JSON, ("x-timeout-ms", "0")], body.as_bytes())
    };
    assert_eq!(ask(0).status, 422);
    let late = ask(3);
    assert_eq!(
        (late.status, late.json()["error"].as_str()),
        (504, Some("the filter took until the deadline"))
    );
}

#[test]
fn what_is_not_served_is_named() {
    let server = Running::with_part(|all| Systems { dense: None, hybrid: None, ..all });
    for path in ["/v1/dense/search?query=ducks", "/v1/dense/doc/d0"] {
        let refused = server.get(path);
        assert_eq!(
            (refused.status, refused.json()["error"].as_str()),
            (424, Some("the server has no dense system")),
            "{path}"
        );
    }
    assert_eq!(server.get("/v1/sparse/doc/d0").status, 200);
    let server = Running::with_part(|all| Systems { reranker: None, texts: None, ..all });
    let refused = server.post("/v1/search", &json!({ "query": "ducks", "rerank": true }));
    let said = "hits cannot be reranked: the server was started without the collection's texts";
    assert_eq!((refused.status, refused.json()["error"].as_str()), (424, Some(said)));
    assert_eq!(server.post("/rerank", &json!({ "query": "ducks", "texts": ["a toller"] })).status, 200);
}

#[test]
fn texts_that_are_no_pairs_are_cut_on_either_side() {
    let server = Running::start();
    let long = format!("dogs {} lakes", "ducks ".repeat(400));
    let ask = |inputs: &Value, side: &str| {
        server.post("/predict", &json!({ "inputs": inputs, "truncation_direction": side }))
    };
    for inputs in [json!(long), json!([[long]])] {
        assert_ne!(ask(&inputs, "left").ok(), ask(&inputs, "right").ok());
    }
    assert_eq!(ask(&json!([[long], ["ducks", "dogs"]]), "left").status, 422);
}

#[test]
fn every_protocol_says_whether_texts_are_cut() {
    let long = "ducks ".repeat(400);
    let routes = [
        ("/v1/embeddings", json!({ "input": long }), 400),
        ("/v1/rerank", json!({ "query": "a", "documents": [long] }), 422),
        ("/v2/rerank", json!({ "query": "a", "documents": [long] }), 400),
        ("/rerank", json!({ "query": "a", "documents": [long] }), 422),
    ];
    for by_default in [true, false] {
        let server = Running::with(
            Limits { truncate: by_default, ..Limits::default() },
            None,
            Duration::from_secs(20),
        );
        for (path, body, refused) in &routes {
            let status = |field: &str, value: Value| {
                let mut body = body.clone();
                body[field] = value;
                server.post(path, &body).status
            };
            for (value, cuts) in [
                (Value::Null, by_default),
                (json!(true), true),
                (json!(false), false),
                (json!("NONE"), false),
                (json!("END"), true),
            ] {
                // This route has TEI's field.
                if *path != "/rerank" || !value.is_string() {
                    assert_eq!(status("truncate", value.clone()) == 200, cuts, "{path} {by_default} {value}");
                }
            }
            assert_eq!(status("truncate_prompt_tokens", json!(-1)), 200, "{path}");
            assert_eq!(status("truncate_prompt_tokens", json!(5)), *refused, "{path}");
            assert_eq!(status("truncate", json!("MIDDLE")), *refused, "{path}");
        }
        let embedded = |truncate: &str| {
            let text = format!("dogs {long} lakes");
            server.post("/v1/embeddings", &json!({ "input": text, "truncate": truncate })).ok()["data"]
                .clone()
        };
        assert_ne!(embedded("START"), embedded("END"));
        let start = json!({ "query": "a", "documents": ["b"], "truncate": "START" });
        assert_eq!(server.post("/v1/rerank", &start).status, 422);
    }
}

#[test]
fn null_is_a_field_that_is_left_out() {
    let server = Running::start();
    for (path, body) in [
        ("/v1/search", json!({ "query": "ducks", "system": "sparse" })),
        ("/v1/search", json!({ "query": "ducks", "system": "sparse", "filter": {} })),
        ("/v1/explain", json!({ "query": "ducks", "ids": ["d0"] })),
        ("/embed", json!({ "inputs": "ducks" })),
        ("/similarity", json!({ "inputs": { "source_sentence": "a", "sentences": ["b"] } })),
        ("/rerank", json!({ "query": "ducks", "texts": ["a toller"] })),
        ("/rerank", json!({ "query": "ducks", "documents": ["a toller"] })),
        ("/predict", json!({ "inputs": "ducks" })),
        ("/tokenize", json!({ "inputs": "ducks" })),
        ("/decode", json!({ "ids": [5, 6] })),
        ("/v1/embeddings", json!({ "input": "ducks" })),
        ("/v1/rerank", json!({ "query": "ducks", "documents": ["a toller"] })),
    ] {
        let results = |body: &Value| {
            let mut answer = server.post(path, body).ok();
            // The times.
            if let Some(answer) = answer.as_object_mut() {
                answer.remove("stages");
            }
            answer
        };
        let schema = schema_of(&server, path);
        let mut nulls = body.clone();
        for field in schema.keys().filter(|field| body[field.as_str()].is_null()) {
            nulls[field] = Value::Null;
        }
        if body["filter"].is_object() {
            nulls["filter"] = json!({ "ids": null, "exclude": null });
        }
        assert_eq!(results(&nulls), results(&body), "{path} {nulls}");
    }
}

/// The fields of a route's body, by the OpenAPI document.
fn schema_of(server: &Running, path: &str) -> serde_json::Map<String, Value> {
    let document = server.get("/openapi.json").ok();
    let body = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
    let schema = document.pointer(body["$ref"].as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
    schema["properties"].as_object().unwrap().clone()
}

#[test]
fn of_two_names_of_a_field_the_protocols_own_counts() {
    let server = Running::start();
    let ask = |body: Value| server.post("/v1/embeddings", &body).ok()["data"].clone();
    let plain = json!({ "input": "ducks", "encoding_format": "base64", "normalized": false });
    let mut both = plain.clone();
    for (field, value) in [
        ("embedding_type", json!("float")),
        ("normalize", json!(true)),
        ("input_type", json!("query")),
        ("task", json!("poem")),
        ("prompt_name", json!("poem")),
    ] {
        both[field] = value;
    }
    assert_eq!(ask(both), ask(plain));
}

#[test]
fn queries_of_an_inverted_index_are_bounded() {
    let server = Running::start();
    let long = "ducks ".repeat(11_000);
    let search = json!({ "query": ["ducks", long], "k": 3, "system": "sparse" });
    assert_eq!(server.post("/v1/search", &search).status, 413);
    assert_eq!(server.post("/v1/explain", &json!({ "query": long, "ids": ["d0"] })).status, 413);
    let many = json!({ "query": "ducks ".repeat(1_000), "ids": vec!["d0"; 1_000] });
    assert_eq!(server.post("/v1/explain", &many).status, 413);
    let some = json!({ "query": "ducks ".repeat(1_000), "ids": ["d0"] });
    assert_eq!(server.post("/v1/explain", &some).status, 200);
}

#[test]
fn tokens_are_shown_of_texts_that_have_not_too_many() {
    let limits = Limits { queued_tokens: 50, ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    assert_eq!(server.post("/tokenize", &json!({ "inputs": "ducks ".repeat(5) })).status, 200);
    let refused = server.post("/tokenize", &json!({ "inputs": ["ducks ".repeat(30), "ducks ".repeat(30)] }));
    assert_eq!(refused.status, 413);
}
