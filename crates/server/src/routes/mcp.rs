//! A server of the Model Context Protocol, by which agents search and read documents. Each message is a POST
//! with an answer of JSON (the protocol's streamable HTTP without streams and sessions).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use toller_ir::{Passage, in_words_of_json};
use toller_pipeline::best_part;

use super::search::{NamedHit, check, matching, passages_if_served, read, run};
use crate::app::App;
use crate::body::Body;
use crate::collection::{Asked, System};
use crate::deadline::Deadline;
use crate::dialect::OwnFailures;
use crate::failure::{Failure, Reason};
use crate::texts::blocking;

/// The version of the protocol whose messages this understands. Those before have batches of messages, or no
/// streamable HTTP.
const VERSION: &str = "2025-06-18";

/// Hits unless the agent asks for another number.
const K: usize = 5;

/// The most hits: an agent has to read them.
const MOST: usize = 50;

/// Characters of a text that are shown with a hit.
const SNIPPET: usize = 600;

/// A message of JSON-RPC.
#[derive(Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Value,
}

/// An error of JSON-RPC: code and message.
struct RpcError(i64, String);

impl RpcError {
    fn answer(&self, id: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": self.0, "message": self.1 } })
    }
}

/// A message of the Model Context Protocol; notifications have no answer
#[utoipa::path(
    post,
    path = "/mcp",
    tag = "MCP",
    request_body(content = Value, example = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })),
    responses((status = 200, body = Value), (status = 202, description = "A notification"), OwnFailures)
)]
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    deadline: Deadline,
    body: Result<Body<Value>, Failure>,
) -> Response {
    let message = match body {
        Ok(Body(message)) => message,
        Err(failure) if failure.reason == Reason::Syntax => {
            return refused(RpcError(-32700, failure.message));
        }
        Err(failure) => return failure.into_response(),
    };
    let message = match Message::deserialize(&message) {
        Ok(found) if message.is_object() => found,
        _ => {
            let said = "a message is an object with a method; this version has no batches of messages";
            return refused(RpcError(-32600, said.to_owned()));
        }
    };
    let Some(id) = message.id else { return StatusCode::ACCEPTED.into_response() };
    let result = match message.method.as_str() {
        "initialize" => Ok(initialized()),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools() })),
        "tools/call" => call(&app, deadline, message.params).await,
        other => Err(RpcError(-32601, format!("there is no method {other:?}"))),
    };
    Json(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => error.answer(&id),
    })
    .into_response()
}

/// The answer to what is not a message, and so has no identifier.
fn refused(error: RpcError) -> Response {
    (StatusCode::BAD_REQUEST, Json(error.answer(&Value::Null))).into_response()
}

fn initialized() -> Value {
    json!({
        "protocolVersion": VERSION,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "toller", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn tools() -> Value {
    json!([
        {
            "name": "search",
            "description": "Search the collection for passages. Gives identifiers, scores and a part of each text: the one with the most words of the query, if words are indexed.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "What to search for" },
                    "k": { "type": "integer", "minimum": 1, "maximum": MOST, "default": K, "description": "Hits" },
                    "system": { "type": "string", "enum": System::ALL.map(System::name), "description": "How to search; by default the best way" },
                    "rerank": { "type": "boolean", "description": "Whether the best hits are scored again by a slower, better model; by default if there is one" },
                },
                "required": ["query"],
            },
        },
        {
            "name": "get_document",
            "description": "Read the whole text of a document by its identifier.",
            "inputSchema": {
                "type": "object",
                "properties": { "id": { "type": "string", "description": "The document's identifier" } },
                "required": ["id"],
            },
        },
    ])
}

/// A call of a tool.
#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct SearchArguments {
    query: String,
    k: Option<usize>,
    system: Option<System>,
    rerank: Option<bool>,
}

#[derive(Deserialize)]
struct DocumentArguments {
    id: String,
}

/// Calls a tool. Its failure is a result, which the agent reads.
async fn call(app: &Arc<App>, deadline: Deadline, params: Value) -> Result<Value, RpcError> {
    let bad = |error: serde_json::Error| {
        RpcError(-32602, format!("the parameters are not as expected: {}", in_words_of_json(error)))
    };
    let Call { name, arguments } = serde_json::from_value(params).map_err(bad)?;
    let found = match name.as_str() {
        "search" => search(app, deadline, serde_json::from_value(arguments).map_err(bad)?).await,
        "get_document" => {
            let DocumentArguments { id } = serde_json::from_value(arguments).map_err(bad)?;
            read(app, id).await.map(|found| json!(found))
        }
        other => return Err(RpcError(-32602, format!("there is no tool {other:?}"))),
    };
    Ok(match found {
        Ok(found) => json!({
            "content": [{ "type": "text", "text": found.to_string() }],
            "structuredContent": found,
            "isError": false,
        }),
        Err(failure) => {
            json!({ "content": [{ "type": "text", "text": failure.message }], "isError": true })
        }
    })
}

async fn search(app: &Arc<App>, deadline: Deadline, asked: SearchArguments) -> Result<Value, Failure> {
    let collection = app.collection()?;
    let system = collection.system(asked.system)?;
    let k = asked.k.unwrap_or(K);
    if !(1..=MOST).contains(&k) {
        return Err(Failure::invalid(format!("`k` is {k}; it is from 1 to {MOST}")));
    }
    let rerank = asked.rerank.unwrap_or(collection.has_reranker());
    let queries = [asked.query];
    check(app, &queries, "k", k)?;
    let asked = Asked { system, k, filter: None };
    let (mut hits, _) = run(app, &collection, asked, rerank, &queries, deadline.0).await?;
    let hits = hits.pop().unwrap_or_default();
    blocking(move || {
        let passages = passages_if_served(&collection, &hits)?;
        let [query] = &queries;
        let matching = matching(&collection, query);
        let part = |text: &str| text[best_part(text, &matching(text), SNIPPET)].to_owned();
        let hit = |(hit, passage): (&NamedHit, &Option<Passage>)| {
            let text = passage.as_ref().map(|passage| part(&passage.text));
            let title = passage.as_ref().and_then(|passage| passage.title.as_deref());
            json!({ "id": hit.id, "score": hit.score, "title": title, "text": text })
        };
        let hits: Vec<Value> = hits.iter().zip(&passages).map(hit).collect();
        Ok(json!({ "system": system.name(), "reranked": rerank, "hits": hits }))
    })
    .await
}
