//! What administrators may do.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::dialect::OwnFailures;
use crate::failure::Failure;
use crate::texts::blocking;

/// The result of a reload.
#[derive(Serialize, ToSchema)]
pub(super) struct Reloaded {
    /// The systems that are served now.
    systems: Vec<&'static str>,
}

/// Opens stores, indexes and texts again, and serves them once all are open
#[utoipa::path(
    post,
    path = "/admin/reload",
    tag = "Administration",
    responses((status = 200, body = Reloaded), OwnFailures)
)]
pub(super) async fn reload(State(app): State<Arc<App>>) -> Result<Json<Reloaded>, Failure> {
    let reloading = app.clone();
    blocking(move || reloading.reload()).await?;
    let systems = app.collection()?.names().map(crate::collection::System::name).collect();
    Ok(Json(Reloaded { systems }))
}
