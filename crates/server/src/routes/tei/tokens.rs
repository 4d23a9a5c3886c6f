//! Tokens of texts, and texts of tokens: `/tokenize` and `/decode`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use toller_ir::Role;
use toller_tokenizer::{TokenInText, Tokenizer};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::Body;
use crate::deadline::Deadline;
use crate::dialect::TeiFailures;
use crate::failure::{Failure, Reason};
use crate::texts::{of_text, on_texts};

/// A text or several.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum Texts {
    /// A text.
    One(String),
    /// Several texts.
    Many(Vec<String>),
}

/// Texts to tokenize.
#[derive(Deserialize, ToSchema)]
pub(in crate::routes) struct TokenizeRequest {
    inputs: Texts,
    /// Whether special tokens are added; they are by default.
    add_special_tokens: Option<bool>,
    /// `query` or `passage`: whose prompt is put before the texts, or whose chat template they are written
    /// in.
    prompt_name: Option<String>,
}

/// A token and its place in the text.
#[derive(Serialize, ToSchema)]
pub(in crate::routes) struct Token {
    id: u32,
    text: String,
    special: bool,
    /// The first byte.
    start: Option<usize>,
    /// The byte after the last one.
    stop: Option<usize>,
}

impl From<TokenInText> for Token {
    fn from(token: TokenInText) -> Self {
        let (start, stop) = token.bytes.map(|bytes| (bytes.start, bytes.end)).unzip();
        Self { id: token.id, text: token.text, special: token.is_special, start, stop }
    }
}

/// The tokens of each text; nothing is cut
#[utoipa::path(
    post,
    path = "/tokenize",
    tag = "Tokens",
    request_body(content = TokenizeRequest, example = json!({ "inputs": ["Tollers lure ducks."] })),
    responses((status = 200, body = Vec<Vec<Token>>), TeiFailures)
)]
pub(in crate::routes) async fn tokenize(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<TokenizeRequest>,
) -> Result<Json<Vec<Vec<Token>>>, Failure> {
    let add_special_tokens = request.add_special_tokens.unwrap_or(true);
    let texts = match request.inputs {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    };
    app.check_count("inputs", texts.len())?;
    // A prompt belongs to the embedding model.
    let role = request.prompt_name.as_deref().map(|name| app.embedder()?.role(Some(name))).transpose()?;
    // A word is a token at least: what is too much is known before memory and time are spent on it.
    let words: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    if words > app.limits.queued_tokens {
        return Err(too_many(&app));
    }
    let bytes = texts.iter().map(String::len).sum();
    let permit = app.inspecting(bytes, deadline).await?;
    on_texts(bytes, move || {
        let _permit = permit;
        let tower = role.map(|role| Ok::<_, Failure>(app.embedder()?.tower(role))).transpose()?;
        with_tokenizer(&app, role, |tokenizer| {
            let mut left = app.limits.queued_tokens;
            let tokens = |(text, place): (&String, usize)| {
                let written = tower.map_or(Ok((text.as_str().into(), true)), |tower| tower.written(text));
                let (text, adds) = written.map_err(|error| of_text(place, &error))?;
                let tokens = tokenizer.inspect(&text, add_special_tokens && adds);
                let tokens = tokens.map_err(|error| of_text(place, &error.into()))?;
                left = left.checked_sub(tokens.len()).ok_or_else(|| too_many(&app))?;
                Ok(tokens.into_iter().map(Token::from).collect())
            };
            texts.iter().zip(0..).map(tokens).collect::<Result<_, Failure>>()
        })
    })
    .await
    .map(Json)
}

/// The failure of texts whose tokens would take too much memory.
fn too_many(app: &App) -> Failure {
    let most = app.limits.queued_tokens;
    Failure::new(Reason::TooLarge, format!("the texts have more than {most} tokens; send fewer at a time"))
}

/// The ids of a text's tokens, or those of several texts.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected ids of tokens, or lists of them")]
enum Ids {
    /// Of a text.
    One(Vec<u32>),
    /// Of several texts.
    Many(Vec<Vec<u32>>),
}

/// Tokens to make texts of.
#[derive(Deserialize, ToSchema)]
pub(in crate::routes) struct DecodeRequest {
    ids: Ids,
    /// Whether special tokens are left out; they are by default.
    skip_special_tokens: Option<bool>,
}

/// The text of each list of tokens
#[utoipa::path(
    post,
    path = "/decode",
    tag = "Tokens",
    request_body(content = DecodeRequest, example = json!({ "ids": [1, 2, 3] })),
    responses((status = 200, body = Vec<String>), TeiFailures)
)]
pub(in crate::routes) async fn decode(
    State(app): State<Arc<App>>,
    Deadline(deadline): Deadline,
    Body(request): Body<DecodeRequest>,
) -> Result<Json<Vec<String>>, Failure> {
    let skip_special_tokens = request.skip_special_tokens.unwrap_or(true);
    let lists = match request.ids {
        Ids::One(ids) => vec![ids],
        Ids::Many(lists) => lists,
    };
    app.check_count("ids", lists.len())?;
    let ids = lists.iter().map(Vec::len).sum();
    let permit = app.inspecting(ids, deadline).await?;
    on_texts(ids, move || {
        let _permit = permit;
        with_tokenizer(&app, None, |tokenizer| {
            let text = |(ids, place): (&Vec<u32>, usize)| {
                let text = tokenizer.decode(ids, skip_special_tokens);
                text.map_err(|error| of_text(place, &error.into()))
            };
            lists.iter().zip(0..).map(text).collect::<Result<_, Failure>>()
        })
    })
    .await
    .map(Json)
}

/// Gives the tokenizer of the embedding model, or of the reranker, to `work`. The queries' encoder may have
/// another one than the passages'.
fn with_tokenizer<T>(
    app: &App,
    role: Option<Role>,
    work: impl FnOnce(&Tokenizer) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match app.embedder() {
        Ok(embedder) => {
            let role = role.map_or_else(|| embedder.role(None), Ok)?;
            work(embedder.tower(role).tokenizer())
        }
        Err(_) => work(app.scorer()?.model().tokenizer()),
    }
}
