//! OpenAI's embeddings API.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use toller_tokenizer::Tokens;
use utoipa::ToSchema;

use super::inputs::Input;
use super::tei::Timing;
use super::tei::embed::output;
use super::truncation::{Truncate, cut};
use crate::app::App;
use crate::body::{Body, InPath};
use crate::deadline::Deadline;
use crate::dialect::OpenAiFailures;
use crate::failure::{Failure, Reason};

/// Texts to encode.
#[derive(Deserialize, ToSchema)]
pub(super) struct EmbeddingsRequest {
    input: Input,
    model: Option<String>,
    /// Dimensions that are kept of a vector.
    dimensions: Option<usize>,
    /// Numbers, unless it says otherwise.
    encoding_format: Option<Format>,
    /// Jina's name of `encoding_format`, which counts if there are both.
    embedding_type: Option<Format>,
    /// `query` or `passage`: the role of the texts. Not a field of OpenAI's.
    input_type: Option<String>,
    /// Jina's name of `input_type`, which counts if there are both.
    task: Option<String>,
    /// TEI's name of `input_type`, which counts if there are both.
    prompt_name: Option<String>,
    /// Whether vectors have length 1; the model's own choice if left out. A field of Jina's.
    normalized: Option<bool>,
    /// TEI's name of `normalized`, which counts if there are both.
    normalize: Option<bool>,
    /// Whether texts that are too long are cut; as the server was started if left out. A field of Jina's.
    truncate: Option<Truncate>,
    /// -1 to cut texts that are too long. A field of vLLM's.
    truncate_prompt_tokens: Option<i64>,
    /// Not supported: texts have no context of each other. A field of Jina's.
    late_chunking: Option<bool>,
    /// Not supported: a text has one vector. A field of Jina's.
    return_multivector: Option<bool>,
}

impl EmbeddingsRequest {
    /// Refuses what would give other vectors.
    fn check_supported(&self) -> Result<(), Failure> {
        let fields = [("late_chunking", self.late_chunking), ("return_multivector", self.return_multivector)];
        match fields.into_iter().find(|(_, asked)| *asked == Some(true)) {
            None => Ok(()),
            Some((field, _)) => Err(Failure::of_shape(format!("`{field}` is not supported; leave it out"))),
        }
    }
}

/// How vectors are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// Numbers.
    #[default]
    Float,
    /// The bytes of f32 numbers, little-endian, in base64.
    Base64,
}

/// The vectors of texts.
#[derive(Serialize, ToSchema)]
pub(super) struct Embeddings {
    object: &'static str,
    data: Vec<Embedding>,
    model: String,
    usage: Usage,
}

/// The vector of a text.
#[derive(Serialize, ToSchema)]
struct Embedding {
    object: &'static str,
    embedding: Vector,
    index: usize,
}

/// A vector.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Vector {
    /// Numbers.
    Float(Vec<f32>),
    /// The bytes of f32 numbers, little-endian, in base64.
    Base64(String),
}

/// Tokens of a request.
#[derive(Serialize, ToSchema)]
pub(super) struct Usage {
    prompt_tokens: usize,
    total_tokens: usize,
}

impl Usage {
    pub(super) fn of(tokens: &[Tokens]) -> Self {
        let total_tokens = tokens.iter().map(Tokens::len).sum();
        Self { prompt_tokens: total_tokens, total_tokens }
    }

    pub(super) fn tokens(&self) -> usize {
        self.total_tokens
    }
}

/// The vector of each text
#[utoipa::path(
    post,
    path = "/v1/embeddings",
    tag = "OpenAI",
    request_body(content = EmbeddingsRequest, example = json!({ "input": ["A toller lures ducks."] })),
    responses((status = 200, body = Embeddings), OpenAiFailures)
)]
pub(super) async fn embeddings(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<EmbeddingsRequest>,
) -> Result<Response, Failure> {
    let started = Instant::now();
    let (embedder, model) = app.embedder_named(request.model.as_deref())?;
    request.check_supported()?;
    let role = request.input_type.or(request.task).or(request.prompt_name);
    let role = embedder.role(role.as_deref())?;
    let output = output(embedder, role, request.normalized.or(request.normalize), request.dimensions)?;
    let format = request.encoding_format.or(request.embedding_type).unwrap_or_default();
    let inputs = request.input.checked(&app, "input")?;
    let mut timing = Timing::new(started, inputs.characters());
    let most = embedder.tower(role).max_length();
    let cut = cut(&app.limits, request.truncate, request.truncate_prompt_tokens, most)?;
    let tokens = embedder.tokenize(inputs, role, cut, deadline).await?;
    let usage = Usage::of(&tokens);
    timing.tokenized(&app, ("embed", embedder.encoder().compute()), &tokens);
    let vectors = timing.take(embedder.encode(role, output, tokens, deadline).await?);
    let write = |vector: Vec<f32>| match format {
        Format::Float => Vector::Float(vector),
        Format::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            Vector::Base64(STANDARD.encode(bytes))
        }
    };
    let embedding = |(index, vector)| Embedding { object: "embedding", embedding: write(vector), index };
    let data = vectors.into_iter().enumerate().map(embedding).collect();
    Ok(timing.answer(Embeddings { object: "list", data, model: model.to_owned(), usage }))
}

/// The models that are served.
#[derive(Serialize, ToSchema)]
pub(super) struct Models {
    object: &'static str,
    data: Vec<Model>,
}

/// A model.
#[derive(Serialize, ToSchema)]
pub(super) struct Model {
    id: String,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

impl Model {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), object: "model", created: 0, owned_by: "toller" }
    }
}

/// The models that are served
#[utoipa::path(
    get,
    path = "/v1/models",
    tag = "OpenAI",
    responses((status = 200, body = Models), OpenAiFailures)
)]
pub(super) async fn models(State(app): State<Arc<App>>) -> Json<Models> {
    Json(Models { object: "list", data: app.served_names().map(Model::new).collect() })
}

/// A model by its name
#[utoipa::path(
    get,
    path = "/v1/models/{id}",
    tag = "OpenAI",
    params(("id" = String, Path)),
    responses((status = 200, body = Model), OpenAiFailures)
)]
pub(super) async fn model(
    State(app): State<Arc<App>>,
    InPath(parts): InPath<Vec<String>>,
) -> Result<Json<Model>, Failure> {
    // Some clients leave the slash of a name as it is.
    let id = parts.join("/");
    let missing = || Failure::new(Reason::ModelNotFound, format!("there is no model {id:?} here"));
    app.served_names().find(|name| *name == id).map(|name| Json(Model::new(name))).ok_or_else(missing)
}
