//! What every request passes: its identifier, the log, the metrics, the server's name, the phase of the
//! server, the key.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONNECTION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::{App, InFlight};
use crate::dialect::Dialect;
use crate::failure::{Failure, Reason};
use crate::keys::Rights;
use crate::log::Line;
use crate::sending::counted;

/// The header of a request's identifier.
const REQUEST_ID: &str = "x-request-id";

/// The longest identifier that is taken from a client.
const LONGEST_ID: usize = 128;

/// Gives a request its identifier, counts and logs it.
pub(crate) async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (started, in_flight) = (Instant::now(), InFlight::enter(&app));
    let id = request_id(request.headers());
    let method = method_name(request.method());
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    if app.phase.is_draining() {
        // A client that kept the connection would send its next request to nobody.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let (status, time) = (response.status().as_u16(), started.elapsed());
    app.metrics.answered(route.as_ref().map_or("other", MatchedPath::as_str), method, status, time);
    app.log.request(&Line { id: &id, method, path: &path, status, time });
    counted(response, in_flight)
}

/// Refuses requests that name another host, if the server has no keys and listens only to this machine. A
/// site may let its own name lead to 127.0.0.1, and its pages would then read every answer.
pub(crate) async fn own_name(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    match hosts.find(|host| !is_own(host)) {
        Some(host) if app.only_local_names => {
            let message = format!(
                "without keys, a server that listens only on this machine answers requests for localhost or an address, not for {host:?}"
            );
            Dialect::Own.complete(Failure::new(Reason::Forbidden, message).into_response())
        }
        _ => next.run(request).await,
    }
}

/// Lets requests with a key for reading pass, unless the server is shutting down.
pub(crate) async fn read(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if app.phase.is_draining() {
        return Failure::new(Reason::Unavailable, "the server is shutting down").into_response();
    }
    match check(&app, request.headers(), Rights::Read) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

/// Lets requests with a key for administration pass.
pub(crate) async fn admin(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match check(&app, request.headers(), Rights::Admin) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

/// Checks the rights of a request's key. Without keys everybody may read, and nobody may administrate.
pub(crate) fn check(app: &App, headers: &HeaderMap, needed: Rights) -> Result<(), Failure> {
    let Some(keys) = &app.keys else {
        return match needed {
            Rights::Read => Ok(()),
            Rights::Admin => Err(Failure::new(Reason::Forbidden, "the server has no key for administration")),
        };
    };
    match keys.rights(headers) {
        None => Err(Failure::new(Reason::Unauthorized, "the key is missing or wrong")),
        Some(rights) if rights < needed => {
            Err(Failure::new(Reason::Forbidden, "the key is not for administration"))
        }
        Some(_) => Ok(()),
    }
}

/// Refuses requests that a web page of another site makes in its visitor's browser.
pub(crate) async fn same_origin(request: Request, next: Next) -> Response {
    let origin = request.headers().get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    if origin.is_some_and(|origin| !is_local(origin)) {
        return Failure::new(Reason::Forbidden, "pages of other sites may not use this route")
            .into_response();
    }
    next.run(request).await
}

/// Whether an origin is this machine.
fn is_local(origin: &str) -> bool {
    matches!(name(origin.split_once("://").map_or("", |(_, rest)| rest)), "localhost" | "127.0.0.1" | "::1")
}

/// Whether a host cannot be the name of a site: localhost, which browsers look up nowhere, or an address.
fn is_own(host: &str) -> bool {
    let name = name(host).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok()
}

/// A host without its port.
fn name(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Of the methods that have a name, so that clients cannot invent labels of metrics.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// The client's identifier of the request, if it is short and printable, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_usable = |id: &&str| (1..=LONGEST_ID).contains(&id.len()) && !id.contains('"');
    given.filter(is_usable).map_or_else(new_id, str::to_owned)
}

/// An identifier that no other request has.
pub(crate) fn new_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Each hasher of the standard library has random keys.
    format!("{:016x}-{number:x}", RandomState::new().hash_one(number))
}

#[cfg(test)]
mod tests {
    use super::{is_local, is_own, new_id};

    #[test]
    fn origins_of_this_machine_are_recognized() {
        for local in ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:8080"] {
            assert!(is_local(local), "{local}");
        }
        for other in
            ["http://evil.example", "http://localhost.evil.example", "null", "http://127.0.0.1.nip.io"]
        {
            assert!(!is_local(other), "{other}");
        }
    }

    #[test]
    fn names_that_a_site_can_have_are_recognized() {
        for own in
            ["localhost", "LOCALHOST:3000", "toller.localhost", "127.0.0.1:3000", "[::1]:3000", "10.0.0.7:80"]
        {
            assert!(is_own(own), "{own}");
        }
        for other in
            ["evil.example", "evil.example:3000", "127.0.0.1.nip.io:3000", "localhost.evil.example", ""]
        {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn identifiers_differ() {
        assert_ne!(new_id(), new_id());
    }
}
