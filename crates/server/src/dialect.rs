//! How each protocol writes a failure.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::header::{ACCEPT_ENCODING, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use utoipa::openapi::{RefOr, ResponseBuilder};

use crate::failure::{Failure, Reason};

/// The protocol of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// text-embeddings-inference: `{"error", "error_type"}`.
    Tei,
    /// `{"error": {"message", "type", "param", "code"}}`.
    OpenAi,
    /// `{"message"}`.
    Cohere,
    /// `{"detail"}`.
    Jina,
    /// The server's own routes, and Pyserini's: `{"error", "kind"}`.
    Own,
}

impl Dialect {
    /// Completes the response of a failure; others stay as they are.
    pub(crate) fn complete(self, mut response: Response) -> Response {
        match response.extensions_mut().remove::<Failure>() {
            Some(failure) => self.render(&failure),
            None => response,
        }
    }

    fn render(self, failure: &Failure) -> Response {
        let mut response = (self.status(failure.reason), Json(self.body(failure))).into_response();
        let retry_after = failure.retry_after_secs();
        if let Some(value) = retry_after.and_then(|secs| HeaderValue::from_str(&secs.to_string()).ok()) {
            response.headers_mut().insert(RETRY_AFTER, value);
        }
        let required = match failure.reason {
            Reason::ContentEncoding => Some((ACCEPT_ENCODING, "identity")),
            Reason::Unauthorized => Some((WWW_AUTHENTICATE, "Bearer")),
            _ => None,
        };
        response.headers_mut().extend(required.map(|(name, value)| (name, HeaderValue::from_static(value))));
        response
    }

    fn status(self, reason: Reason) -> StatusCode {
        match (self, reason) {
            (Self::Tei, Reason::Backend) => StatusCode::FAILED_DEPENDENCY,
            // Of TEI's own checks, as of the number and the length of inputs.
            (Self::Tei, Reason::Invalid) => StatusCode::PAYLOAD_TOO_LARGE,
            (Self::OpenAi | Self::Cohere, Reason::Shape | Reason::Invalid | Reason::NotServed) => {
                StatusCode::BAD_REQUEST
            }
            _ => reason.status(),
        }
    }

    fn body(self, failure: &Failure) -> Value {
        let message = &failure.message;
        match self {
            Self::Tei => json!({ "error": message, "error_type": error_type(failure.reason) }),
            Self::OpenAi => {
                let (kind, code) = openai(failure.reason);
                json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
            }
            Self::Cohere => json!({ "message": message }),
            Self::Jina => json!({ "detail": message }),
            Self::Own => json!({ "error": message, "kind": failure.reason.name() }),
        }
    }

    /// The failures of a route, for the OpenAPI document.
    fn documented(self) -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let reasons = [
            (Reason::Syntax, "The body is not JSON, or the input is empty"),
            (Reason::Unauthorized, "The key is missing or wrong"),
            (Reason::Forbidden, "The key may not do this"),
            (Reason::NotFound, "There is no such model or document"),
            (Reason::SlowBody, "The body took too long to come"),
            (Reason::TooLarge, "The body is too large"),
            (Reason::MediaType, "The body is not JSON, or it is compressed"),
            (Reason::Shape, "The body has another shape"),
            (Reason::Invalid, "A value cannot be used"),
            (Reason::NotServed, "The server was started without what this needs"),
            (Reason::Overloaded, "Too much waits already; Retry-After says when to try again"),
            (Reason::Unavailable, "The server is starting or shutting down"),
            (Reason::Timeout, "The deadline passed"),
            (Reason::Backend, "Computing failed"),
        ];
        let mut meanings: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (reason, about) in reasons {
            meanings.entry(self.status(reason).as_str().to_owned()).or_default().push(about);
        }
        let response =
            |about: Vec<&str>| RefOr::T(ResponseBuilder::new().description(about.join(". ")).build());
        meanings.into_iter().map(|(status, about)| (status, response(about))).collect()
    }
}

/// TEI's names.
fn error_type(reason: Reason) -> &'static str {
    match reason {
        Reason::Empty => "Empty",
        Reason::NotServed | Reason::Backend | Reason::Timeout => "Backend",
        Reason::Overloaded => "Overloaded",
        Reason::Unavailable => "Unhealthy",
        _ => "Validation",
    }
}

/// OpenAI's types and codes.
fn openai(reason: Reason) -> (&'static str, Option<&'static str>) {
    match reason {
        Reason::Unauthorized => ("invalid_request_error", Some("invalid_api_key")),
        Reason::ModelNotFound => ("invalid_request_error", Some("model_not_found")),
        Reason::Overloaded => ("rate_limit_error", Some("rate_limit_exceeded")),
        Reason::Unavailable | Reason::Timeout | Reason::Backend => ("server_error", None),
        _ => ("invalid_request_error", None),
    }
}

macro_rules! failures {
    ($($(#[$doc:meta])* $name:ident: $dialect:ident,)+) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl utoipa::IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
                Dialect::$dialect.documented()
            }
        }
    )+};
}

failures! {
    /// The failures of TEI's routes, for the OpenAPI document.
    TeiFailures: Tei,
    /// The same of OpenAI's.
    OpenAiFailures: OpenAi,
    /// The same of Cohere's.
    CohereFailures: Cohere,
    /// The same of Jina's.
    JinaFailures: Jina,
    /// The same of the server's own routes.
    OwnFailures: Own,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use serde_json::json;

    use super::Dialect;
    use crate::failure::{Failure, Reason};

    #[test]
    fn each_protocol_has_its_own_words() {
        let failure = Failure::new(Reason::Invalid, "no");
        let body = |dialect: Dialect| dialect.body(&failure);
        assert_eq!(body(Dialect::Tei), json!({"error": "no", "error_type": "Validation"}));
        let openai =
            json!({"error": {"message": "no", "type": "invalid_request_error", "param": null, "code": null}});
        assert_eq!(body(Dialect::OpenAi), openai);
        assert_eq!(body(Dialect::Cohere), json!({"message": "no"}));
        assert_eq!(body(Dialect::Jina), json!({"detail": "no"}));
        assert_eq!(body(Dialect::Own), json!({"error": "no", "kind": "invalid"}));
    }

    #[test]
    fn tei_tells_values_from_shapes() {
        let status =
            |dialect: Dialect| [Reason::Invalid, Reason::Shape].map(|reason| dialect.status(reason).as_u16());
        assert_eq!(status(Dialect::Tei), [413, 422]);
        assert_eq!(status(Dialect::OpenAi), [400, 400]);
        assert_eq!(status(Dialect::Jina), [422, 422]);
    }

    #[test]
    fn an_overload_says_when_to_try_again() {
        let failure = Failure::overloaded("full", Duration::from_millis(2100));
        let response = Dialect::Tei.complete(failure.into_response());
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()["retry-after"], "3");
        let response = Dialect::Tei.complete(Failure::new(Reason::Unavailable, "down").into_response());
        assert_eq!(response.headers()["retry-after"], "1");
    }
}
