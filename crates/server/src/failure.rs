//! Why a request is not answered as it was asked, whatever the words of its protocol.

use std::time::Duration;

use axum::Extension;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use toller_ir::{Explain, Remedy, Setting, Term};

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The body is not JSON.
    Syntax,
    /// The input is empty.
    Empty,
    /// JSON of another shape than the route takes.
    Shape,
    /// A value that cannot be used.
    Invalid,
    /// The body is too large.
    TooLarge,
    /// The body has another media type than JSON.
    MediaType,
    /// The body is compressed.
    ContentEncoding,
    /// The body took too long to come.
    SlowBody,
    /// The key is missing or wrong.
    Unauthorized,
    /// The key, or the origin, may not do this.
    Forbidden,
    /// There is no such route or document.
    NotFound,
    /// The route has other methods.
    Method,
    /// There is no such model.
    ModelNotFound,
    /// The server was started without what this route needs.
    NotServed,
    /// Too much waits already.
    Overloaded,
    /// The server is starting or shutting down.
    Unavailable,
    /// The deadline passed.
    Timeout,
    /// Computing failed.
    Backend,
}

impl Reason {
    /// Its name in answers of the server's own routes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Empty => "empty",
            Self::Shape | Self::Invalid => "invalid",
            Self::TooLarge => "too_large",
            Self::MediaType => "media_type",
            Self::ContentEncoding => "content_encoding",
            Self::SlowBody => "slow_body",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Method => "method_not_allowed",
            Self::ModelNotFound => "model_not_found",
            Self::NotServed => "not_served",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Backend => "backend",
        }
    }

    /// The status, where a protocol does not have its own.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Syntax | Self::Empty => StatusCode::BAD_REQUEST,
            Self::Shape | Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType | Self::ContentEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound | Self::ModelNotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotServed => StatusCode::FAILED_DEPENDENCY,
            Self::Overloaded => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Backend => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// The field of a request that is a setting, or what the server calls it, if there is one.
fn name(setting: Setting) -> Option<&'static str> {
    match setting {
        Setting::K => Some("k"),
        Setting::MaxLength => Some("the server's maximum length"),
        _ => None,
    }
}

/// Why a request fails. The dialect of its route gives it a body and a status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    pub(crate) message: String,
    /// When to try again.
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), retry_after: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, message)
    }

    pub(crate) fn of_shape(message: impl Into<String>) -> Self {
        Self::new(Reason::Shape, message)
    }

    /// Refuses work because a queue is full, until there is room by the measured rate.
    pub(crate) fn overloaded(message: &str, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Reason::Overloaded, message) }
    }

    /// The error of a library, with its remedy if that is about a request or the server's start. What fails
    /// in the server itself is for its administrator to remedy, not for a client.
    pub(crate) fn of(reason: Reason, error: &dyn Explain) -> Self {
        let is_known =
            |term: &Term| term.command.is_none() && term.setting.is_none_or(|of| name(of).is_some());
        let is_for_client = |remedy: &Remedy| reason != Reason::Backend && remedy.terms().all(is_known);
        let remedy = error.remedy().filter(is_for_client).map(|remedy| {
            let named = |setting: Setting| name(setting).unwrap_or_default();
            format!(" ({})", remedy.render(|term| term.spelled(|command| command.name(), named)))
        });
        Self::new(reason, format!("{error}{}", remedy.unwrap_or_default()))
    }

    /// The seconds after which to try again, at least one.
    pub(crate) fn retry_after_secs(&self) -> Option<u64> {
        let wait = match (self.retry_after, self.reason) {
            (Some(wait), _) => wait,
            (None, Reason::Unavailable | Reason::Overloaded) => Duration::ZERO,
            (None, _) => return None,
        };
        Some(wait.as_secs_f64().ceil().max(1.0) as u64)
    }
}

/// A response that the dialect of the route completes.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.reason.status(), Extension(self)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::{Failure, Reason};

    #[test]
    fn clients_are_not_told_what_the_administrator_has_to_do() {
        let error = Error::from(ErrorKind::NotFound);
        assert!(Failure::of(Reason::Invalid, &error).message.starts_with(&format!("{error} (")));
        assert_eq!(Failure::of(Reason::Backend, &error).message, error.to_string());
    }
}
