//! Reranking in the shapes of Cohere and Jina.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::openai::Usage;
use super::tei::Timing;
use super::tei::score::best_first;
use super::truncation::{Truncate, cut};
use crate::app::App;
use crate::body::Body;
use crate::deadline::Deadline;
use crate::dialect::{CohereFailures, JinaFailures};
use crate::failure::Failure;
use crate::gate::new_id;

/// A query, and documents to rank by it.
#[derive(Deserialize, ToSchema)]
pub(super) struct RankRequest {
    pub(super) model: Option<String>,
    pub(super) query: String,
    pub(super) documents: Vec<Document>,
    /// Documents of the answer, the best; `null` for all.
    #[schema(minimum = 1)]
    pub(super) top_n: Option<usize>,
    /// Whether the answer has the documents.
    pub(super) return_documents: Option<bool>,
    /// Tokens that are kept of a document.
    #[schema(minimum = 1)]
    pub(super) max_tokens_per_doc: Option<usize>,
    /// Fields of documents that are read; only `text` is supported.
    pub(super) rank_fields: Option<Vec<String>>,
    /// Whether pairs that are too long are cut; as the server was started if left out.
    pub(super) truncate: Option<Truncate>,
    /// -1 to cut pairs that are too long. A field of vLLM's.
    pub(super) truncate_prompt_tokens: Option<i64>,
}

/// A document.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text or an object with a text")]
pub(super) enum Document {
    /// Its text.
    Text(String),
    /// An object with its text.
    Object {
        /// Its text.
        text: String,
    },
}

/// What is found for a request.
struct RankedDocuments {
    model: String,
    /// The place and the score of each document, best first.
    ranked: Vec<(usize, f32)>,
    /// The texts of all documents in their order, if they are to be returned.
    texts: Vec<String>,
    usage: Usage,
    timing: Timing,
}

/// Refuses a number that leaves nothing, which a request gives in `field`.
pub(super) fn at_least_one(field: &str, number: Option<usize>) -> Result<(), Failure> {
    match number {
        Some(0) => Err(Failure::of_shape(format!("`{field}` is at least 1"))),
        _ => Ok(()),
    }
}

async fn rank(
    app: &Arc<App>,
    Deadline(deadline): Deadline,
    request: RankRequest,
) -> Result<RankedDocuments, Failure> {
    let started = Instant::now();
    let (scorer, model) = app.scorer_named(request.model.as_deref())?;
    app.check_count("documents", request.documents.len())?;
    let most = scorer.model().max_length();
    at_least_one("top_n", request.top_n)?;
    at_least_one("max_tokens_per_doc", request.max_tokens_per_doc)?;
    if request.rank_fields.is_some_and(|fields| fields != ["text"]) {
        return Err(Failure::of_shape("`rank_fields` other than `text` are not supported"));
    }
    let text = |document| match document {
        Document::Text(text) | Document::Object { text } => text,
    };
    let texts: Vec<String> = request.documents.into_iter().map(text).collect();
    let mut timing = Timing::new(started, texts.iter().map(|text| text.chars().count()).sum());
    let cut = cut(&app.limits, request.truncate, request.truncate_prompt_tokens, most)?;
    let returned = if request.return_documents == Some(true) { texts.clone() } else { Vec::new() };
    let pairs = scorer.pairs(request.query, texts, request.max_tokens_per_doc, cut, deadline).await?;
    let usage = Usage::of(&pairs);
    timing.tokenized(app, ("score", scorer.model().compute()), &pairs);
    let logits = timing.take(scorer.logits(pairs, deadline).await?).concat();
    let mut ranked = best_first(&scorer.model().shares_of(&logits));
    ranked.truncate(request.top_n.unwrap_or(usize::MAX));
    Ok(RankedDocuments { model: model.to_owned(), ranked, texts: returned, usage, timing })
}

/// An answer in Cohere's shape.
#[derive(Serialize, ToSchema)]
pub(super) struct CohereRanking {
    id: String,
    results: Vec<CohereResult>,
    meta: Value,
}

/// A document's place and score.
#[derive(Serialize, ToSchema)]
struct CohereResult {
    index: usize,
    relevance_score: f32,
}

/// The documents by relevance from 0 to 1, in Cohere's shape
#[utoipa::path(
    post,
    path = "/v2/rerank",
    tag = "Reranking",
    request_body(
        content = RankRequest,
        example = json!({ "query": "who lures ducks?", "documents": ["A toller is a dog.", "An index lists documents."], "top_n": 1 })
    ),
    responses((status = 200, body = CohereRanking), CohereFailures)
)]
pub(super) async fn cohere(
    State(app): State<Arc<App>>,
    deadline: Deadline,
    Body(request): Body<RankRequest>,
) -> Result<Json<CohereRanking>, Failure> {
    let found = rank(&app, deadline, request).await?;
    let result = |(index, relevance_score)| CohereResult { index, relevance_score };
    let tokens = found.usage.tokens();
    Ok(Json(CohereRanking {
        id: new_id(),
        results: found.ranked.into_iter().map(result).collect(),
        meta: json!({
            "api_version": { "version": "2" },
            "billed_units": { "search_units": 1 },
            "tokens": { "input_tokens": tokens, "output_tokens": 0 },
        }),
    }))
}

/// An answer in Jina's shape.
#[derive(Serialize, ToSchema)]
pub(super) struct JinaRanking {
    model: String,
    object: &'static str,
    usage: Usage,
    results: Vec<JinaResult>,
}

/// A document's place, score and text.
#[derive(Serialize, ToSchema)]
struct JinaResult {
    index: usize,
    relevance_score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<JinaDocument>,
}

/// A document.
#[derive(Serialize, ToSchema)]
struct JinaDocument {
    text: String,
}

/// The documents by relevance from 0 to 1, in Jina's shape
#[utoipa::path(
    post,
    path = "/v1/rerank",
    tag = "Reranking",
    request_body(
        content = RankRequest,
        example = json!({ "query": "who lures ducks?", "documents": ["A toller is a dog.", "An index lists documents."], "top_n": 1 })
    ),
    responses((status = 200, body = JinaRanking), JinaFailures)
)]
pub(super) async fn jina(
    State(app): State<Arc<App>>,
    deadline: Deadline,
    Body(request): Body<RankRequest>,
) -> Result<Response, Failure> {
    in_jinas_shape(&app, deadline, request).await
}

/// Ranks documents in Jina's shape. TEI's route answers so, too, with its headers.
pub(super) async fn in_jinas_shape(
    app: &Arc<App>,
    deadline: Deadline,
    request: RankRequest,
) -> Result<Response, Failure> {
    let mut found = rank(app, deadline, request).await?;
    let result = |(index, relevance_score)| {
        let document = found.texts.get_mut(index).map(|text| JinaDocument { text: std::mem::take(text) });
        JinaResult { index, relevance_score, document }
    };
    let results = found.ranked.into_iter().map(result).collect();
    let answer = JinaRanking { model: found.model, object: "list", usage: found.usage, results };
    Ok(found.timing.answer(answer))
}
