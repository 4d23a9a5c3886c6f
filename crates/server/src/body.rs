//! What handlers take out of a request: its body as JSON, its parameters.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use toller_ir::in_words_of_json;

use crate::app::App;
use crate::failure::{Failure, Reason};
use crate::texts::as_json;

/// Bytes of a body that are read where the request is.
const FEW_BYTES: usize = 64 * 1024;

/// A body of JSON. serde_json refuses more than 128 levels.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        let media_type = request.headers().get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
        if media_type.is_some_and(|media_type| !is_json(media_type)) {
            return Err(Failure::new(Reason::MediaType, "the body must be of type application/json"));
        }
        let encoding = request.headers().get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
        if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            let message =
                format!("the body has Content-Encoding {encoding:?}; send it as it is, without this header");
            return Err(Failure::new(Reason::ContentEncoding, message));
        }
        let most = app.limits.body_bytes;
        let too_large = || Failure::new(Reason::TooLarge, format!("the body has more than {most} bytes"));
        let length =
            request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: u64| length > most as u64) {
            return Err(too_large());
        }
        let read = tokio::time::timeout(app.limits.body_timeout, to_bytes(request.into_body(), most)).await;
        let bytes = read.map_err(|_| Failure::new(Reason::SlowBody, "the body took too long"))?;
        let bytes = bytes.map_err(|error| match is_length_limit(&error) {
            true => too_large(),
            false => Failure::new(Reason::Syntax, format!("the body cannot be read: {error}")),
        })?;
        // Some programs write a byte order mark, and RFC 8259 lets readers ignore it.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        as_json(bytes.len() > FEW_BYTES, || serde_json::from_slice(bytes)).map(Self).map_err(|error| {
            let reason = if error.classify() == Category::Data { Reason::Shape } else { Reason::Syntax };
            let said = match bytes.trim_ascii_start().first() {
                // Every body is an object.
                Some(b'{') => in_words_of_json(error),
                _ => "a JSON object is expected".to_owned(),
            };
            Failure::new(reason, format!("the body is not as expected: {said}"))
        })
    }
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn is_length_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<http_body_util::LengthLimitError>())
}

/// The parts of the path that the route leaves open.
pub(crate) struct InPath<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for InPath<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Failure> {
        let found = Path::from_request_parts(parts, app).await;
        found.map(|Path(found)| Self(found)).map_err(|error| {
            Failure::new(Reason::Syntax, format!("the path is not as expected: {}", error.body_text()))
        })
    }
}

/// The parameters behind the path.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for Parameters<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Failure> {
        let failed =
            |said: &str| Failure::new(Reason::Syntax, format!("the parameters are not as expected: {said}"));
        check_parameters(parts.uri.query())?;
        let found = Query::try_from_uri(&parts.uri).map(|Query(found)| Self(found));
        found.map_err(|error| {
            let said = error.body_text();
            failed(&in_words_of_json(said.rsplit_once("query string: ").map_or(&*said, |(_, said)| said)))
        })
    }
}

/// Refuses what is not UTF-8, in whose place U+FFFD would be searched for.
pub(crate) fn check_parameters(query: Option<&str>) -> Result<(), Failure> {
    let decoded = percent_decode_str(query.unwrap_or_default()).decode_utf8();
    decoded.map(drop).map_err(|_| Failure::new(Reason::Syntax, "the parameters are not UTF-8"))
}
