//! The page: its document, its style, its modules. Everything is in the program; nothing is loaded from
//! elsewhere.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY};
use axum::http::header::{X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};

use super::runs::wants_page;
use super::status;
use crate::app::App;
use crate::body::InPath;
use crate::failure::{Failure, Reason};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// The files of the page: name, type, content.
const FILES: [(&str, &str, &str); 8] = [
    ("look.css", STYLE, toller_report::STYLE),
    ("page.css", STYLE, include_str!("../page/page.css")),
    ("page.js", SCRIPT, include_str!("../page/page.js")),
    ("api.js", SCRIPT, include_str!("../page/api.js")),
    ("parts.js", SCRIPT, include_str!("../page/parts.js")),
    ("search.js", SCRIPT, include_str!("../page/search.js")),
    ("hit.js", SCRIPT, include_str!("../page/hit.js")),
    ("runs.js", SCRIPT, include_str!("../page/runs.js")),
];

/// What the page may load and run: its own files, and in a frame the pages of runs, which are inside of it.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let frame = toller_report::frame_sources();
    format!(
        "default-src 'none'; connect-src 'self'; img-src data:; frame-src blob:; script-src 'self' {}; \
         style-src 'self' {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        frame.scripts, frame.styles
    )
});

/// Headers of everything here: types are not guessed, other sites learn nothing.
const HEADERS: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (CACHE_CONTROL, "no-cache"),
];

/// The page for browsers; for others, TEI's check of health.
pub(super) async fn page(state: State<Arc<App>>, headers: HeaderMap) -> Result<Response, Failure> {
    if !wants_page(&headers) {
        return Ok(([(VARY, "accept")], status::health(state).await?).into_response());
    }
    let own = [(CONTENT_TYPE, HTML), (CONTENT_SECURITY_POLICY, POLICY.as_str()), (VARY, "accept")];
    Ok((HEADERS, own, include_str!("../page/page.html")).into_response())
}

/// A file of the page.
pub(super) async fn file(InPath(name): InPath<String>) -> Result<Response, Failure> {
    let found = FILES.iter().find(|(own, _, _)| *own == name);
    let missing = || Failure::new(Reason::NotFound, format!("the page has no file {name:?}"));
    let (_, kind, content) = found.ok_or_else(missing)?;
    Ok((HEADERS, [(CONTENT_TYPE, *kind)], *content).into_response())
}

/// A page that has everything in itself, its policy too.
pub(super) fn standalone(page: String) -> Response {
    let own = [(CONTENT_TYPE, HTML), (CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"), (VARY, "accept")];
    (HEADERS, own, page).into_response()
}
