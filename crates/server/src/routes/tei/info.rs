//! What is served: `/info`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use toller_encoder::Role;

use super::role_name;
use crate::app::App;
use crate::collection::System;
use crate::dialect::TeiFailures;
use crate::embedder::capacity;
use crate::failure::Failure;

/// What is served, in TEI's fields and some more
#[utoipa::path(get, path = "/info", tag = "Status", responses((status = 200, body = Value), TeiFailures))]
pub(in crate::routes) async fn info(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let [embedder_name, scorer_name] = app.model_names();
    let limits = &app.limits;
    let mut info = json!({
        "model_id": embedder_name.or(scorer_name),
        "served_model_name": embedder_name.or(scorer_name),
        "model_sha": null,
        "model_dtype": null,
        "model_type": null,
        "max_concurrent_requests": limits.connections,
        "max_input_length": null,
        "max_batch_tokens": null,
        "max_batch_requests": null,
        "max_client_batch_size": limits.texts,
        "max_k": limits.k,
        "auto_truncate": limits.truncate,
        "tokenization_workers": null,
        "version": env!("CARGO_PKG_VERSION"),
        "sha": null,
        "docker_label": null,
        "reranker": scorer_name,
    });
    if let Ok(scorer) = app.scorer() {
        let model = scorer.model();
        info["max_batch_tokens"] = json!(capacity(limits, 1, model.work()).batch);
        let labels = model.labels();
        let id2label: serde_json::Map<_, _> =
            labels.iter().enumerate().map(|(id, label)| (id.to_string(), json!(label))).collect();
        let label2id: serde_json::Map<_, _> =
            labels.iter().enumerate().map(|(id, label)| (label.clone(), json!(id))).collect();
        info["model_type"] = json!({ "reranker": { "id2label": id2label, "label2id": label2id } });
        info["model_dtype"] = json!(model.dtype().to_string());
        info["max_input_length"] = json!(model.max_length());
        info["model_sha"] = json!(model.fingerprint());
    }
    if let Ok(embedder) = app.embedder() {
        let tower = embedder.tower(Role::Passage);
        info["max_batch_tokens"] = json!(capacity(limits, 1, tower.work()).batch);
        info["model_type"] = json!({ "embedding": { "pooling": tower.pooling() } });
        info["model_dtype"] = json!(embedder.encoder().dtype().to_string());
        info["max_input_length"] = json!(tower.max_length());
        info["model_sha"] = json!(embedder.encoder().model().fingerprint());
        info["dimensions"] = json!(embedder.encoder().dim());
        // Without prompts of its own, a model treats both roles alike.
        let has_roles = !embedder.encoder().model().is_tied();
        info["default_prompt_name"] =
            json!(has_roles.then(|| embedder.role(None).map(role_name)).transpose()?);
    }
    if let Ok(collection) = app.collection() {
        info["systems"] = collection.names().map(System::name).collect();
        info["reranks_hits"] = json!(collection.has_reranker());
        info["runs"] = json!(collection.systems.runs.is_some());
        info["documents"] = json!(collection.texts().ok().map(|texts| texts.len()));
    }
    Ok(Json(info))
}
