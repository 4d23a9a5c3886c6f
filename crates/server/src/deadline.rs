//! When a request must be answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::app::App;
use crate::failure::{Failure, Reason};

/// When a request must be answered: `x-timeout-ms` after its head, at most the server's own limit.
pub(crate) struct Deadline(pub(crate) Instant);

impl FromRequestParts<Arc<App>> for Deadline {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Failure> {
        let most = app.limits.timeout;
        let timeout = match parts.headers.get("x-timeout-ms") {
            None => most,
            Some(value) => {
                let milliseconds = value.to_str().ok().and_then(|value| value.parse().ok());
                let bad = || Failure::of_shape("x-timeout-ms must be a number of milliseconds");
                most.min(Duration::from_millis(milliseconds.ok_or_else(bad)?))
            }
        };
        Ok(Self(Instant::now() + timeout))
    }
}

/// The result of work that ends before a deadline; else a failure with this message. Work whose deadline has
/// passed is not begun: the timer is late by up to a millisecond, in which short work would end.
pub(crate) async fn before<T>(
    deadline: Instant,
    late: &str,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let late = || Failure::new(Reason::Timeout, late);
    if deadline <= Instant::now() {
        return Err(late());
    }
    tokio::time::timeout_at(deadline.into(), work).await.map_err(|_| late())
}
