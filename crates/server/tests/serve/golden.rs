//! Every route has requests in `tests/golden` with the answers that they get. The numbers are exact: bits are
//! the same on every machine.

use std::fs;

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use crate::support::Running;

/// What differs between two answers to one request: times and identifiers.
fn without_chance(mut answer: Value) -> Value {
    if let Some(fields) = answer.as_object_mut() {
        if let Some(id) = fields.get_mut("id").filter(|id| id.is_string()) {
            *id = json!("");
        }
        for stage in fields.get_mut("stages").and_then(Value::as_array_mut).into_iter().flatten() {
            stage["milliseconds"] = json!(0);
        }
    }
    answer
}

#[test]
fn every_route_answers_as_written() {
    let server = Running::start();
    let folder = toller_testing::repository("crates/server/tests/golden");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut client = server.client();
    let (mut asked, mut different) = (Vec::new(), Vec::new());
    for file in files {
        let cases: Vec<Value> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let mut found = Vec::with_capacity(cases.len());
        for case in &cases {
            let path = case["path"].as_str().unwrap();
            let answer = match &case["body"] {
                Value::Null => client.send("GET", path, &[], b""),
                body => client.post(path, body),
            };
            found.push(json!({
                "path": path,
                "body": case["body"],
                "status": answer.status,
                "answer": if answer.body.is_empty() { Value::Null } else { without_chance(answer.json()) },
            }));
            asked.push(path.split('?').next().unwrap().to_owned());
        }
        if found != cases {
            different.push(format!("{}\n{}\n", file.display(), Value::from(found)));
        }
    }
    assert!(different.is_empty(), "these files should be:\n{}", different.concat());
    // What the OpenAPI document lists, without the routes whose answers are not JSON or need a key.
    let documented = server.get("/openapi.json").ok();
    let missing: Vec<&String> = documented["paths"]
        .as_object()
        .unwrap()
        .keys()
        .filter(|route| !["/metrics", "/admin/reload", "/info"].contains(&route.as_str()))
        .filter(|route| !asked.iter().any(|path| fits(route, path)))
        .collect();
    assert!(missing.is_empty(), "no golden request for {missing:?}");
}

/// Every body that the OpenAPI document describes has fields, and an example that is answered in the shape
/// that it describes.
#[test]
fn the_examples_of_the_document_are_answered() {
    let (server, sparse) = (Running::start(), Running::of_encoder("sparse-models/bert"));
    let document = server.get("/openapi.json").ok();
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler.add_resource("file:///openapi.json", document.clone()).unwrap();
    let mut check = |path: &str, part: &str, value: &Value| {
        let path = path.replace('/', "~1");
        let place =
            format!("file:///openapi.json#/paths/{path}/post/{part}/content/application~1json/schema");
        let schema =
            compiler.compile(&place, &mut schemas).unwrap_or_else(|error| panic!("{place}: {error:#}"));
        let checked = schemas.validate(value, schema);
        assert!(checked.is_ok(), "{place}: {value} {}", checked.unwrap_err());
    };
    let paths = document["paths"].as_object().unwrap();
    let mut ids = Vec::new();
    for (path, item) in paths {
        ids.extend(
            item.as_object().unwrap().values().filter_map(|operation| operation["operationId"].as_str()),
        );
        if item["post"].is_null() || path == "/admin/reload" {
            continue;
        }
        let body = &item["post"]["requestBody"]["content"]["application/json"];
        if path != "/mcp" {
            let name =
                body["schema"]["$ref"].as_str().unwrap().strip_prefix("#/components/schemas/").unwrap();
            let fields = document["components"]["schemas"][name]["properties"].as_object().unwrap();
            for field in body["example"].as_object().unwrap().keys() {
                assert!(fields.contains_key(field), "{path}: {field}");
            }
        }
        assert!(!body["example"].is_null(), "{path}");
        check(path, "requestBody", &body["example"]);
        let asked = if path == "/embed_sparse" { &sparse } else { &server };
        check(path, "responses/200", &asked.post(path, &body["example"]).ok());
    }
    let single = json!({ "inputs": "ducks" });
    check("/predict", "responses/200", &server.post("/predict", &single).ok());
    check("/embed", "requestBody", &json!({ "inputs": [{ "text": "ducks" }] }));
    assert!(["/mcp", "/invocations", "/v1/search"].iter().all(|path| paths.contains_key(*path)));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
}

#[test]
fn every_response_of_the_document_has_a_description() {
    let server = Running::start();
    let document = server.get("/openapi.json").ok();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let description = response["description"].as_str();
                assert!(description.is_some_and(|description| !description.is_empty()), "{path} {status}");
            }
        }
    }
}

/// Whether a path is of a route.
fn fits(route: &str, path: &str) -> bool {
    let (route, path): (Vec<&str>, Vec<&str>) = (route.split('/').collect(), path.split('/').collect());
    route.len() == path.len() && route.iter().zip(&path).all(|(a, b)| a.starts_with('{') || a == b)
}

#[test]
fn what_is_served_is_described() {
    let server = Running::start();
    let info = server.get("/info").ok();
    assert_eq!(info["model_id"], "tiny-bert");
    assert_eq!(
        info["model_type"],
        json!({"embedding": {"pooling": server.encoder.model().tower(toller_engine::Role::Passage).pooling()}})
    );
    assert_eq!(info["systems"], json!(["hybrid", "dense", "sparse"]));
    assert_eq!(info["dimensions"], server.encoder.dim());
    // The model has no prompts.
    assert_eq!(info["default_prompt_name"], Value::Null);
    for name in ["tiny-bert", "org/tiny-bert", "org%2Ftiny-reranker"] {
        let model = server.get(&format!("/v1/models/{name}")).ok();
        assert_eq!(model["id"], name.replace("%2F", "/"));
    }
    let answer = server.post("/embed", &json!({"inputs": ["one", "two"]}));
    assert_eq!(answer.ok().as_array().unwrap().len(), 2);
    for header in ["x-compute-tokens", "x-compute-characters", "x-queue-time", "x-request-id"] {
        assert!(answer.headers.contains_key(header), "{header}");
    }
    assert_eq!(answer.headers["x-compute-characters"], "6");
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    for line in [
        "toller_texts_total{model=\"embed\"} 2",
        "toller_requests_total{route=\"/embed\",method=\"POST\",status=\"200\"} 1",
        "toller_batch_items_count{queue=\"embed\"} 1",
        "te_request_success{method=\"batch\"} 1",
        "te_embed_count 2",
        "te_request_input_length_count 2",
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
    let answer = server.post("/v1/embeddings", &json!({"input": "three"}));
    assert_eq!((answer.status, &*answer.headers["x-compute-characters"]), (200, "5"));
    assert_eq!(server.post("/v1/embeddings", &json!({"input": []})).status, 400);
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    for line in [
        "toller_texts_total{model=\"embed\"} 3",
        "te_request_success{method=\"single\"} 1",
        "te_request_failure{err=\"validation\"} 1",
        "te_embed_count 3",
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
    let logged: Vec<Value> =
        server.log.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(logged.iter().any(|line| line["path"] == "/embed" && line["status"] == 200), "{logged:?}");
}

#[test]
fn teis_metrics_count_the_requests_that_a_model_computes() {
    let server = Running::start();
    let ranked = server.post("/rerank", &json!({ "query": "ducks", "documents": ["a", "dog"] }));
    assert_eq!(ranked.ok()["results"].as_array().unwrap().len(), 2);
    assert_eq!(ranked.headers["x-compute-characters"], "4");
    server.get("/info").ok();
    assert_eq!(server.post("/tokenize", &json!({ "inputs": [] })).status, 400);
    assert_eq!(server.post("/decode", &json!({})).status, 422);
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    for line in [
        "toller_texts_total{model=\"score\"} 2", "te_request_count{method=\"batch\"} 1",
        "te_request_success{method=\"batch\"} 1", "te_predict_success 2",
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
    assert!(!metrics.contains("te_request_failure"), "{metrics}");
}
