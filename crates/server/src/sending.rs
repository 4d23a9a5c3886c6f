//! Sending an answer: the request is under way until the last byte is written, and a client that does not
//! read is not waited for.

use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::app::InFlight;

/// Keeps a request under way until its answer is sent, or given up.
pub(crate) fn counted(response: Response, in_flight: InFlight) -> Response {
    response.map(|body| Body::new(Counted { body, in_flight: Arc::new(in_flight) }))
}

/// A body whose bytes have a share of the request.
struct Counted {
    body: Body,
    in_flight: Arc<InFlight>,
}

/// Bytes that are dropped once the system has them: hyper drops a body before its last bytes are written.
struct Held {
    bytes: Bytes,
    _in_flight: Arc<InFlight>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let held = |bytes| Bytes::from_owner(Held { bytes, _in_flight: self.in_flight.clone() });
        Poll::Ready(frame.map(|frame| Ok(frame?.map_data(held))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that fails once nothing could be written for some time.
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, stalled: None }
    }

    /// What a step of writing gave, unless the client has taken nothing for too long.
    fn noted<T>(&mut self, step: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if step.is_ready() {
            self.stalled = None;
            return step;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read its answer")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let step = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.noted(step, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let step = Pin::new(&mut self.stream).poll_flush(context);
        self.noted(step, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let step = Pin::new(&mut self.stream).poll_shutdown(context);
        self.noted(step, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let step = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.noted(step, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
