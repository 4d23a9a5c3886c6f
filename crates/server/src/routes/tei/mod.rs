//! The routes of Hugging Face's text-embeddings-inference 1.9.

pub(super) mod embed;
pub(super) mod info;
pub(super) mod score;
pub(super) mod tokens;

use std::time::{Duration, Instant};

use axum::Json;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use toller_encoder::{Compute, Role};
use toller_tokenizer::{Side, Tokens};
use utoipa::ToSchema;

use crate::app::App;
use crate::schedule::Answer;
use crate::tei_metrics::Answered;
use crate::texts::{Cut, FEW_TOKENS, as_json};

/// The side on which a text that is too long is cut off.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
pub(super) enum Direction {
    /// The beginning.
    #[serde(rename = "left", alias = "Left")]
    Left,
    /// The end.
    #[serde(rename = "right", alias = "Right")]
    Right,
}

/// What happens to long texts, by the fields of a request.
fn cut(app: &App, truncate: Option<bool>, direction: Option<Direction>) -> Cut {
    let side = direction.map(|direction| match direction {
        Direction::Left => Side::Left,
        Direction::Right => Side::Right,
    });
    Cut { truncate: truncate.unwrap_or(app.limits.truncate), side }
}

/// The name of a role in answers.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::Query => "query",
        Role::Passage => "passage",
    }
}

/// What a request took.
pub(super) struct Timing {
    started: Instant,
    tokenized: Duration,
    queued: Duration,
    computed: Duration,
    characters: usize,
    model: &'static str,
    is_cpu: bool,
    /// Tokens of each text.
    lengths: Vec<usize>,
}

impl Timing {
    /// A request that began then, with this number of characters.
    pub(super) fn new(started: Instant, characters: usize) -> Self {
        let (tokenized, queued, computed) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        Self {
            started,
            tokenized,
            queued,
            computed,
            characters,
            model: "",
            is_cpu: true,
            lengths: Vec::new(),
        }
    }

    /// Notes that the texts have these tokens now, and counts them for the model, which computes there.
    pub(super) fn tokenized(
        &mut self,
        app: &App,
        (model, compute): (&'static str, &Compute),
        tokens: &[Tokens],
    ) {
        self.tokenized = self.started.elapsed();
        self.model = model;
        self.is_cpu = compute.is_cpu();
        self.lengths = tokens.iter().map(Tokens::len).collect();
        app.metrics.given(model, tokens.len(), self.tokens());
    }

    fn tokens(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// The outputs, with their times noted.
    pub(super) fn take<T>(&mut self, answer: Answer<T>) -> Vec<T> {
        self.queued += answer.queued;
        self.computed += answer.computed;
        answer.outputs
    }

    /// The answer with TEI's headers: milliseconds, characters and tokens.
    pub(super) fn answer(self, body: impl Serialize) -> Response {
        let is_large = self.tokens() > FEW_TOKENS;
        let mut response = as_json(is_large, || Json(body).into_response());
        let milliseconds = |time: Duration| time.as_millis() as u64;
        let numbers = [
            ("x-compute-time", milliseconds(self.started.elapsed())),
            ("x-compute-characters", self.characters as u64),
            ("x-compute-tokens", self.tokens() as u64),
            ("x-total-time", milliseconds(self.started.elapsed())),
            ("x-tokenization-time", milliseconds(self.tokenized)),
            ("x-queue-time", milliseconds(self.queued)),
            ("x-inference-time", milliseconds(self.computed)),
        ];
        let headers = response.headers_mut();
        headers.insert("x-compute-type", HeaderValue::from_static(if self.is_cpu { "cpu" } else { "gpu" }));
        for (name, number) in numbers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from(number));
        }
        response.extensions_mut().insert(Answered {
            kind: if self.model == "embed" { "embed" } else { "predict" },
            total: self.started.elapsed(),
            lengths: self.lengths,
            tokenization: self.tokenized,
            queue: self.queued,
            inference: self.computed,
        });
        response
    }
}
