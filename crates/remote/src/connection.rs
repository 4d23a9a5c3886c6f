//! The HTTP of object stores: requests of `object_store` over the hub's connection.

use std::io::{self, Read};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use toller_hub::ResolveOptions;
use ureq::http::{Method, Request, Response, Uri};
use ureq::{Agent, AsSendBody, BodyReader};

/// The bytes of an answer that are passed on at once.
const FRAME_BYTES: u64 = 1 << 18;

/// How long the service that gives a cloud's machines their credentials may take to accept a connection. It
/// is on the same machine, or nowhere.
const METADATA_TIMEOUT: Duration = Duration::from_secs(1);

/// Makes connections with the hub's settings.
#[derive(Clone, Debug)]
pub(crate) struct Connector(pub(crate) ResolveOptions);

/// How long the answer to a body may take. It is waited for when the body is with the system, which may send
/// the last of it for much longer than a server needs for other answers.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug)]
struct Connection(Agent);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed = |error| object_store::Error::Generic { store: "HTTP", source: Box::new(error) };
        Ok(HttpClient::new(Connection(toller_hub::agent(&self.0).map_err(failed)?)))
    }
}

#[async_trait]
impl HttpService for Connection {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let is_head = parts.method == Method::HEAD;
        let is_metadata = is_metadata(&parts.uri);
        // The payload is in memory already, and usually one piece, which is not copied.
        let body = body.collect().await?.to_bytes();
        let sent = if matches!(parts.method, Method::PUT | Method::POST) {
            let request = self.0.configure_request(Request::from_parts(parts, &body[..]));
            let patient = request.timeout_recv_response(Some(UPLOAD_TIMEOUT));
            send(&self.0, patient.build(), is_metadata)
        } else {
            send(&self.0, Request::from_parts(parts, ()), is_metadata)
        };
        let (parts, body) = sent.map_err(|error| failure(error, is_metadata))?.into_parts();
        let length = parts.headers.get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
        let missing_bytes = length.filter(|_| !is_head);
        let answer = Answer { reader: Mutex::new(body.into_reader()), missing_bytes, failed: None };
        Ok(Response::from_parts(parts, HttpResponseBody::new(answer)))
    }
}

fn send<S: AsSendBody>(
    agent: &Agent,
    request: Request<S>,
    is_metadata: bool,
) -> Result<Response<ureq::Body>, ureq::Error> {
    if is_metadata {
        let patient = agent.configure_request(request);
        return agent.run(patient.timeout_connect(Some(METADATA_TIMEOUT)).proxy(None).build());
    }
    agent.run(request)
}

/// Whether this is the service that gives a cloud's machines their credentials.
fn is_metadata(uri: &Uri) -> bool {
    uri.host().is_some_and(|host| {
        host.starts_with("169.254.") || host == "metadata.google.internal" || host == "metadata"
    })
}

/// The kind decides whether `object_store` tries again.
fn failure(error: ureq::Error, is_metadata: bool) -> HttpError {
    let kind = match &error {
        // A machine without that service has no credentials. Another attempt takes time and changes nothing.
        _ if is_metadata => HttpErrorKind::Unknown,
        ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => HttpErrorKind::Connect,
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => HttpErrorKind::Connect,
        ureq::Error::Io(_) | ureq::Error::Protocol(_) => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

/// The body of an answer.
struct Answer {
    /// In a mutex because a body must be `Sync`. It is never locked.
    reader: Mutex<BodyReader<'static>>,
    /// The announced bytes that have not arrived, where the server announced a length.
    missing_bytes: Option<u64>,
    /// An error that comes after bytes that did arrive.
    failed: Option<io::Error>,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let interrupted =
            |error: io::Error| Poll::Ready(Some(Err(HttpError::new(HttpErrorKind::Interrupted, error))));
        if let Some(error) = self.failed.take() {
            return interrupted(error);
        }
        let expected = self.missing_bytes.unwrap_or(FRAME_BYTES).min(FRAME_BYTES);
        let mut frame = Vec::with_capacity(expected as usize);
        let reader = self.reader.get_mut().unwrap_or_else(PoisonError::into_inner);
        let outcome = reader.take(expected).read_to_end(&mut frame);
        if let Some(missing) = &mut self.missing_bytes {
            *missing -= frame.len() as u64;
        }
        let is_short = self.missing_bytes.is_some() && (frame.len() as u64) < expected;
        self.failed = outcome.err().or_else(|| is_short.then(|| io::ErrorKind::UnexpectedEof.into()));
        match (frame.is_empty(), self.failed.take()) {
            (true, Some(error)) => interrupted(error),
            (true, None) => Poll::Ready(None),
            (false, failed) => {
                self.failed = failed;
                Poll::Ready(Some(Ok(Frame::data(frame.into()))))
            }
        }
    }
}
