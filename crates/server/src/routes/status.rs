//! Whether the server lives, and what it counts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::app::App;
use crate::dialect::TeiFailures;
use crate::failure::{Failure, Reason};
use crate::gate;
use crate::keys::Rights;

/// Whether the server takes requests, as TEI says it
#[utoipa::path(
    get,
    path = "/health",
    tag = "Status",
    security(()),
    responses((status = 200, description = "It does"), (status = 503, description = "It is shutting down, or a GPU has failed"))
)]
pub(super) async fn health(app: State<Arc<App>>) -> Result<(), Failure> {
    match app.phase.is_draining() {
        true => Err(Failure::new(Reason::Unavailable, "the server is shutting down")),
        false => live(app).await,
    }
}

/// Whether the server takes requests
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "Status",
    security(()),
    responses((status = 200, description = "It does"), (status = 503, description = "It is shutting down, or a GPU has failed"))
)]
pub(super) async fn ready(app: State<Arc<App>>) -> Result<(), Failure> {
    health(app).await
}

/// Whether the server lives; also while it shuts down, but not once a GPU is lost to the process
#[utoipa::path(
    get,
    path = "/livez",
    tag = "Status",
    security(()),
    responses((status = 200, description = "It does"), (status = 503, description = "A GPU has failed"))
)]
pub(super) async fn live(State(app): State<Arc<App>>) -> Result<(), Failure> {
    let lost = |name| Failure::new(Reason::Unavailable, format!("{name} has failed; start the server again"));
    app.lost_device().map(lost).map_or(Ok(()), Err)
}

/// What the server counts, for Prometheus
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "Status",
    security((), ("bearer" = [])),
    responses((status = 200, body = String), TeiFailures)
)]
pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Failure> {
    if app.protect_metrics {
        gate::check(&app, &headers, Rights::Read)?;
    }
    let tei = app.tei_metrics.as_ref().map(|tei| tei.registry.render()).unwrap_or_default();
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics.registry.render() + &tei))
}
