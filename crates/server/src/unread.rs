//! The rest of a body whose request was answered before it was read.
//!
//! Most clients read the answer only after they have sent the whole body. If the connection ended before,
//! they would report a broken pipe instead of the refusal. So the rest is read and thrown away before the
//! answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot::{Sender, channel};
use tokio::time::timeout;

use crate::app::App;

/// Reads what a handler has left of the body, for as long as a body may take.
pub(crate) async fn discard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let waits = request.headers().contains_key(EXPECT);
    let (back, rest) = channel();
    let lend = |body| Body::new(Lent { body, is_begun: false, back: Some(back) });
    let response = next.run(request.map(lend)).await;
    // A body that was too slow has had its time, and the end of the server is not held up.
    if response.status() == StatusCode::REQUEST_TIMEOUT || app.phase.is_draining() {
        return response;
    }
    if let Ok((mut rest, is_begun)) = rest.await
        // A client with this header sends its body only after it was asked to.
        && (is_begun || !waits)
    {
        // A client that sends no more gets its answer all the same.
        let _ =
            timeout(app.limits.body_timeout, async { while let Some(Ok(_)) = rest.frame().await {} }).await;
    }
    response
}

/// A body that comes back when its reader drops it.
struct Lent {
    body: Body,
    /// Whether the client was asked for it.
    is_begun: bool,
    back: Option<Sender<(Body, bool)>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(back) = self.back.take() {
            // Nobody waits for it if the connection has ended.
            let _ = back.send((std::mem::take(&mut self.body), self.is_begun));
        }
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.is_begun = true;
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
