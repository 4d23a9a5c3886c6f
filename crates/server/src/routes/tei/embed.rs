//! Vectors and weights of terms: `/embed`, `/embed_all`, `/embed_sparse`, `/similarity`.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use toller_encoder::{Output, Role};
use toller_tokenizer::Tokens;
use utoipa::ToSchema;

use super::{Direction, Timing, cut};
use crate::app::App;
use crate::body::Body;
use crate::deadline::Deadline;
use crate::dialect::TeiFailures;
use crate::embedder::{Embedder, Inputs};
use crate::failure::{Failure, Reason};
use crate::routes::inputs::Input;

/// The most numbers in the states of a request's tokens: as JSON, some 400 MB.
const MOST_NUMBERS: usize = 1 << 25;

/// Texts to encode.
#[derive(Deserialize, ToSchema)]
pub(in crate::routes) struct EmbedRequest {
    inputs: Input,
    /// Whether texts that are too long are cut.
    truncate: Option<bool>,
    truncation_direction: Option<Direction>,
    /// `query` or `passage`: the role of the texts, whose prompt the model puts before them.
    prompt_name: Option<String>,
    /// Whether vectors have unit length; by default as the model defines it.
    normalize: Option<bool>,
    /// Dimensions that are kept of a vector.
    dimensions: Option<usize>,
}

/// What a request wants of the model for texts of a role: its vector as it is, unless the request says
/// otherwise.
pub(in crate::routes) fn output(
    embedder: &Embedder,
    role: Role,
    normalize: Option<bool>,
    dimensions: Option<usize>,
) -> Result<Output, Failure> {
    let (dim, unit) = (embedder.encoder().dim(), embedder.tower(role).normalizes());
    let (asked_dim, asked_unit) = (dimensions.unwrap_or(dim), normalize.unwrap_or(unit));
    if !(1..=dim).contains(&asked_dim) {
        let message = format!("`dimensions` is {asked_dim}; the model makes vectors of {dim}");
        return Err(Failure::invalid(message));
    }
    let is_own = (asked_dim, asked_unit) == (dim, unit);
    Ok(if is_own { Output::Vector } else { Output::Shaped { dim: asked_dim, unit: asked_unit } })
}

/// Texts that are tokenized.
struct Tokenized {
    embedder: Arc<Embedder>,
    role: Role,
    tokens: Vec<Tokens>,
    timing: Timing,
}

impl TextsRequest {
    /// The tokens of the texts, which may be in the queue until the deadline.
    async fn tokenize(self, app: &App, deadline: Instant) -> Result<Tokenized, Failure> {
        let started = Instant::now();
        let embedder = app.embedder()?.clone();
        let role = embedder.role(self.prompt_name.as_deref())?;
        let inputs = self.inputs.checked(app, "inputs")?;
        let timing = Timing::new(started, inputs.characters());
        let cut = cut(app, self.truncate, self.truncation_direction);
        let tokens = embedder.tokenize(inputs, role, cut, deadline).await?;
        Ok(Tokenized { embedder, role, tokens, timing })
    }
}

/// The vector of each text
#[utoipa::path(
    post,
    path = "/embed",
    tag = "Embedding",
    request_body(content = EmbedRequest, example = json!({ "inputs": ["A toller lures ducks."] })),
    responses((status = 200, body = Vec<Vec<f32>>), TeiFailures)
)]
pub(in crate::routes) async fn embed(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<EmbedRequest>,
) -> Result<Response, Failure> {
    let EmbedRequest { inputs, truncate, truncation_direction, prompt_name, normalize, dimensions } = request;
    let embedder = app.embedder()?;
    let output = output(embedder, embedder.role(prompt_name.as_deref())?, normalize, dimensions)?;
    let request = TextsRequest { inputs, truncate, truncation_direction, prompt_name };
    let Tokenized { embedder, role, tokens, mut timing } = request.tokenize(&app, deadline).await?;
    timing.tokenized(&app, ("embed", embedder.encoder().compute()), &tokens);
    let vectors = timing.take(embedder.encode(role, output, tokens, deadline).await?);
    Ok(timing.answer(vectors))
}

/// Texts to encode.
#[derive(Deserialize, ToSchema)]
pub(in crate::routes) struct TextsRequest {
    inputs: Input,
    /// Whether texts that are too long are cut.
    truncate: Option<bool>,
    truncation_direction: Option<Direction>,
    /// `query` or `passage`.
    prompt_name: Option<String>,
}

/// The last layer's state of each token of each text
#[utoipa::path(
    post,
    path = "/embed_all",
    tag = "Embedding",
    request_body(content = TextsRequest, example = json!({ "inputs": ["A toller lures ducks."] })),
    responses((status = 200, body = Vec<Vec<Vec<f32>>>), TeiFailures)
)]
pub(in crate::routes) async fn embed_all(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<TextsRequest>,
) -> Result<Response, Failure> {
    let Tokenized { embedder, role, tokens, mut timing } = request.tokenize(&app, deadline).await?;
    let lengths: Vec<usize> = tokens.iter().map(Tokens::len).collect();
    let numbers = lengths.iter().sum::<usize>() * embedder.tower(role).state_dim();
    if numbers > MOST_NUMBERS {
        let message = format!(
            "the states have {numbers} numbers, and an answer may have {MOST_NUMBERS}; send fewer texts"
        );
        return Err(Failure::new(Reason::TooLarge, message));
    }
    timing.tokenized(&app, ("embed", embedder.encoder().compute()), &tokens);
    let states = timing.take(embedder.encode(role, Output::States, tokens, deadline).await?);
    let of_texts = states.iter().zip(&lengths).map(|(states, &length)| of_tokens(states, length));
    Ok(timing.answer(of_texts.collect::<Vec<_>>()))
}

/// The state of each token.
fn of_tokens(states: &[f32], tokens: usize) -> Vec<&[f32]> {
    states.chunks_exact((states.len() / tokens.max(1)).max(1)).collect()
}

/// A term of a text.
#[derive(Serialize, ToSchema)]
struct WeightedTerm {
    /// The number of its token.
    index: usize,
    /// Its weight.
    value: f32,
}

/// The terms of each text with their weights, by a sparse model
#[utoipa::path(
    post,
    path = "/embed_sparse",
    tag = "Embedding",
    request_body(content = TextsRequest, example = json!({ "inputs": ["A toller lures ducks."] })),
    responses((status = 200, body = Vec<Vec<WeightedTerm>>), TeiFailures)
)]
pub(in crate::routes) async fn embed_sparse(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<TextsRequest>,
) -> Result<Response, Failure> {
    let Tokenized { embedder, role, tokens, mut timing } = request.tokenize(&app, deadline).await?;
    timing.tokenized(&app, ("embed", embedder.encoder().compute()), &tokens);
    let weights = timing.take(embedder.weigh(role, tokens, deadline).await?);
    let answer: Vec<Vec<WeightedTerm>> = weights.iter().map(|weights| weighted(weights)).collect();
    Ok(timing.answer(answer))
}

/// The terms with a weight.
fn weighted(weights: &[f32]) -> Vec<WeightedTerm> {
    let terms = weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
    terms.map(|(index, &value)| WeightedTerm { index, value }).collect()
}

/// A text, and those to compare it with.
#[derive(Deserialize, ToSchema)]
pub(in crate::routes) struct SimilarityRequest {
    inputs: Compared,
    parameters: Option<SimilarityParameters>,
}

/// The texts.
#[derive(Deserialize, ToSchema)]
struct Compared {
    source_sentence: String,
    sentences: Vec<String>,
}

/// How the texts are encoded.
#[derive(Default, Deserialize, ToSchema)]
struct SimilarityParameters {
    truncate: Option<bool>,
    truncation_direction: Option<Direction>,
    prompt_name: Option<String>,
}

/// The cosine of a text's vector and each of the others
#[utoipa::path(
    post,
    path = "/similarity",
    tag = "Embedding",
    request_body(
        content = SimilarityRequest,
        example = json!({ "inputs": { "source_sentence": "ducks", "sentences": ["ducks", "dogs on lakes"] } })
    ),
    responses((status = 200, body = Vec<f32>), TeiFailures)
)]
pub(in crate::routes) async fn similarity(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<SimilarityRequest>,
) -> Result<Response, Failure> {
    let started = Instant::now();
    let embedder = app.embedder()?;
    let Compared { source_sentence, sentences } = request.inputs;
    let parameters = request.parameters.unwrap_or_default();
    let role = embedder.role(parameters.prompt_name.as_deref())?;
    app.check_count("sentences", sentences.len())?;
    let texts: Vec<String> = std::iter::once(source_sentence).chain(sentences).collect();
    let inputs = Inputs::Texts(texts);
    let mut timing = Timing::new(started, inputs.characters());
    let cut = cut(&app, parameters.truncate, parameters.truncation_direction);
    let tokens = embedder.tokenize(inputs, role, cut, deadline).await?;
    timing.tokenized(&app, ("embed", embedder.encoder().compute()), &tokens);
    let vectors = timing.take(embedder.encode(role, Output::Vector, tokens, deadline).await?);
    let cosines = match vectors.split_first() {
        Some((source, others)) => others.iter().map(|other| cosine(source, other)).collect(),
        None => Vec::new(),
    };
    Ok(timing.answer(cosines))
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { (dot(a, b) / lengths) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::cosine;

    #[test]
    fn a_cosine_does_not_depend_on_lengths() {
        assert_eq!(cosine(&[3.0, 4.0], &[6.0, 8.0]), 1.0);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), 0.0);
        assert_eq!(cosine(&[0.0, 0.0], &[0.0, 2.0]), 0.0);
    }
}
