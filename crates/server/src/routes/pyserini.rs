//! The two routes of Pyserini's REST server. An index is a system: `sparse`, `dense` or `hybrid`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::search::{K, NamedHit, check, passages_if_served, read, run};
use crate::app::App;
use crate::body::{InPath, Parameters};
use crate::collection::{Asked, System};
use crate::deadline::Deadline;
use crate::dialect::OwnFailures;
use crate::failure::{Failure, Reason};
use crate::texts::blocking;

/// What to search for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Asking {
    query: String,
    /// Hits.
    #[param(minimum = 1)]
    #[serde(default, deserialize_with = "number")]
    hits: Option<usize>,
    /// Whether documents are objects; else their texts.
    #[serde(default, deserialize_with = "truth")]
    parse: Option<bool>,
    /// The server's own: a request cannot choose it.
    k1: Option<f32>,
    /// The server's own: a request cannot choose it.
    b: Option<f32>,
}

/// How a document is read.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Reading {
    /// Whether the document is an object; else its text.
    #[serde(default, deserialize_with = "truth")]
    parse: Option<bool>,
}

/// A number. Forms send nothing for the default.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let given = String::deserialize(deserializer)?;
    if given.is_empty() { Ok(None) } else { given.parse().map(Some).map_err(D::Error::custom) }
}

/// Whether something is so, as JSON or Python writes it.
fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match String::deserialize(deserializer)?.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "true" => Ok(Some(true)),
        "false" => Ok(Some(false)),
        _ => Err(D::Error::custom("neither true nor false")),
    }
}

/// What was found.
#[derive(Serialize, ToSchema)]
pub(super) struct Candidates {
    api: &'static str,
    index: String,
    query: QueryText,
    candidates: Vec<Candidate>,
}

/// The query.
#[derive(Serialize, ToSchema)]
struct QueryText {
    text: String,
}

/// A hit.
#[derive(Serialize, ToSchema)]
struct Candidate {
    docid: String,
    score: f32,
    rank: usize,
    /// The document, if the server has the texts.
    doc: Option<Doc>,
}

/// A document.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Doc {
    /// Its fields.
    Parsed {
        /// Its identifier.
        id: String,
        /// Its title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its text.
        contents: String,
    },
    /// Its text.
    Text(String),
}

impl Doc {
    fn new(parse: bool, id: String, title: Option<String>, text: String) -> Self {
        if parse { Self::Parsed { id, title, contents: text } } else { Self::Text(text) }
    }
}

fn system(index: &str) -> Result<System, Failure> {
    let missing = || {
        let message = format!("there is no index {index:?}; the indexes are sparse, dense and hybrid");
        Failure::new(Reason::NotFound, message)
    };
    System::by_name(index).ok_or_else(missing)
}

/// The hits of a query, in Pyserini's shape
#[utoipa::path(
    get,
    path = "/v1/{index}/search",
    operation_id = "pyserini_search",
    tag = "Pyserini",
    params(("index" = System, Path), Asking),
    responses((status = 200, body = Candidates), OwnFailures)
)]
pub(super) async fn search(
    State(app): State<Arc<App>>,
    InPath(index): InPath<String>,
    Deadline(deadline): Deadline,
    Parameters(asking): Parameters<Asking>,
) -> Result<Json<Candidates>, Failure> {
    let (system, collection) = (system(&index)?, app.collection()?);
    if asking.k1.is_some() || asking.b.is_some() {
        let message = "`k1` and `b` are chosen when the server is started; leave them out";
        return Err(Failure::invalid(message));
    }
    let k = asking.hits.unwrap_or(K);
    let queries = [asking.query];
    check(&app, &queries, "hits", k)?;
    let asked = Asked { system, k, filter: None };
    let (mut hits, _) = run(&app, &collection, asked, false, &queries, deadline).await?;
    let hits = hits.pop().unwrap_or_default();
    let parse = asking.parse.unwrap_or(true);
    let candidates = blocking(move || {
        let passages = passages_if_served(&collection, &hits)?;
        let candidate = |(rank, (NamedHit { id, score, .. }, passage)): (usize, (NamedHit, _))| {
            let doc = |passage: toller_ir::Passage| Doc::new(parse, passage.id, passage.title, passage.text);
            Candidate { docid: id, score, rank, doc: Option::map(passage, doc) }
        };
        Ok((1..).zip(hits.into_iter().zip(passages)).map(candidate).collect())
    });
    let candidates = candidates.await?;
    let [text] = queries;
    Ok(Json(Candidates { api: "v1", index, query: QueryText { text }, candidates }))
}

/// A document by its identifier.
#[derive(Serialize, ToSchema)]
pub(super) struct Fetched {
    api: &'static str,
    index: String,
    docid: String,
    doc: Doc,
}

/// The document with an identifier, in Pyserini's shape
#[utoipa::path(
    get,
    path = "/v1/{index}/doc/{docid}",
    operation_id = "pyserini_document",
    tag = "Pyserini",
    params(("index" = System, Path), ("docid" = String, Path), Reading),
    responses((status = 200, body = Fetched), OwnFailures)
)]
pub(super) async fn document(
    State(app): State<Arc<App>>,
    InPath((index, docid)): InPath<(String, String)>,
    Parameters(reading): Parameters<Reading>,
) -> Result<Json<Fetched>, Failure> {
    let (system, collection) = (system(&index)?, app.collection()?);
    collection.systems.get(system)?;
    let found = read(&app, docid.clone()).await?;
    let doc = Doc::new(reading.parse.unwrap_or(true), found.id, found.title, found.text);
    Ok(Json(Fetched { api: "v1", index, docid, doc }))
}
