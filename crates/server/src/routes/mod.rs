//! The routes, each under the names and in the shapes of its protocol.

mod admin;
mod document;
mod inputs;
mod mcp;
mod openai;
mod page;
mod pyserini;
mod rank;
mod runs;
mod search;
mod status;
mod tei;
mod truncation;

use std::sync::Arc;

use axum::middleware::{from_fn, from_fn_with_state, map_response, map_response_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::dialect::Dialect;
use crate::failure::{Failure, Reason};
use crate::{gate, tei_metrics, unread};

/// The failure of a request without a route.
async fn refusal(reason: Reason, message: &'static str) -> Response {
    Dialect::Own.complete(Failure::new(reason, message).into_response())
}

/// All routes.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let guarded = |routes: OpenApiRouter<Arc<App>>, dialect: Dialect| {
        routes
            .layer(from_fn_with_state(app.clone(), gate::read))
            .layer(map_response(move |response| async move { dialect.complete(response) }))
    };
    let open = OpenApiRouter::new()
        .routes(routes!(status::health))
        .routes(routes!(status::ready))
        .routes(routes!(status::live))
        .routes(routes!(status::metrics))
        .route("/", get(page::page))
        .route("/page/{file}", get(page::file))
        .route("/ping", get(status::health));
    // What clients of TEI ask for if they know nothing but an address: the task of the model.
    let (task, task_route) = match app.embedder() {
        Ok(model) if model.encoder().is_sparse() => (post(tei::embed::embed_sparse), "/embed_sparse"),
        Ok(_) => (post(tei::embed::embed), "/embed"),
        Err(_) => (post(tei::score::rerank), "/rerank"),
    };
    let tei = OpenApiRouter::new()
        .routes(routes!(tei::embed::embed))
        .routes(routes!(tei::embed::embed_all))
        .routes(routes!(tei::embed::embed_sparse))
        .routes(routes!(tei::embed::similarity))
        .routes(routes!(tei::score::predict))
        .routes(routes!(tei::score::rerank))
        .route("/", task.clone())
        // The same by the name that SageMaker asks for.
        .route("/invocations", task)
        .layer(map_response_with_state(app.clone(), tei_metrics::observe))
        // No model computes for these, so their failures are not among those of its requests.
        .routes(routes!(tei::tokens::tokenize))
        .routes(routes!(tei::tokens::decode))
        .routes(routes!(tei::info::info));
    let openai = OpenApiRouter::new()
        .routes(routes!(openai::embeddings))
        .route("/embeddings", post(openai::embeddings))
        // TEI has this route, too.
        .layer(map_response_with_state(app.clone(), tei_metrics::observe))
        .routes(routes!(openai::models))
        .routes(routes!(openai::model))
        .route("/v1/models/{owner}/{name}", get(openai::model))
        .route("/models", get(openai::models))
        .route("/models/{id}", get(openai::model))
        .route("/models/{owner}/{name}", get(openai::model));
    let own = OpenApiRouter::new()
        .routes(routes!(search::search))
        .routes(routes!(search::document))
        .routes(routes!(search::explain))
        .routes(routes!(runs::list))
        .routes(routes!(runs::report))
        .routes(routes!(runs::diff))
        .routes(routes!(pyserini::search))
        .routes(routes!(pyserini::document));
    let admin = OpenApiRouter::new()
        .routes(routes!(admin::reload))
        .layer(from_fn_with_state(app.clone(), gate::admin))
        .layer(map_response(|response| async { Dialect::Own.complete(response) }));
    let mcp = OpenApiRouter::new().routes(routes!(mcp::answer)).layer(from_fn(gate::same_origin));

    let (router, mut document) = OpenApiRouter::with_openapi(document::Document::openapi())
        .merge(open.layer(map_response(|response| async { Dialect::Tei.complete(response) })))
        .merge(guarded(tei, Dialect::Tei))
        .merge(guarded(openai, Dialect::OpenAi))
        .merge(guarded(OpenApiRouter::new().routes(routes!(rank::cohere)), Dialect::Cohere))
        .merge(guarded(OpenApiRouter::new().routes(routes!(rank::jina)), Dialect::Jina))
        .merge(guarded(own, Dialect::Own))
        .merge(guarded(mcp, Dialect::Own))
        .merge(admin)
        .split_for_parts();
    let aliases = [
        ("/", task_route),
        ("/invocations", task_route),
        ("/ping", "/health"),
        ("/embeddings", "/v1/embeddings"),
        ("/models", "/v1/models"),
        ("/models/{id}", "/v1/models/{id}"),
    ];
    document::complete(&mut document, &aliases, app.keys.is_some());
    let document = Arc::new(document);
    let openapi = move || {
        let document = document.clone();
        async move { Json((*document).clone()) }
    };
    router
        .route("/openapi.json", get(openapi.clone()))
        .route("/api-doc/openapi.json", get(openapi))
        .fallback(|| refusal(Reason::NotFound, "there is no such route; GET /openapi.json lists them"))
        .method_not_allowed_fallback(|| {
            refusal(Reason::Method, "the route has other methods; GET /openapi.json lists them")
        })
        .layer(from_fn_with_state(app.clone(), gate::own_name))
        .layer(from_fn_with_state(app.clone(), gate::observe))
        .layer(from_fn_with_state(app.clone(), unread::discard))
        .with_state(app.clone())
}
