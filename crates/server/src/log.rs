//! The log: a line for each request, as text or as JSON.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

/// Where requests are logged, and how.
pub struct Log(Option<Sink>);

struct Sink {
    is_json: bool,
    out: Mutex<Box<dyn Write + Send>>,
}

/// A request that was answered.
pub(crate) struct Line<'a> {
    pub(crate) id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) time: Duration,
}

impl Log {
    /// No log.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Lines of text: time (RFC 3339, UTC), method, path, status, milliseconds, identifier of the request.
    #[must_use]
    pub fn text(out: impl Write + Send + 'static) -> Self {
        Self(Some(Sink { is_json: false, out: Mutex::new(Box::new(out)) }))
    }

    /// Lines of JSON with the same fields. The time is in seconds since 1970.
    #[must_use]
    pub fn json(out: impl Write + Send + 'static) -> Self {
        Self(Some(Sink { is_json: true, out: Mutex::new(Box::new(out)) }))
    }

    pub(crate) fn request(&self, line: &Line<'_>) {
        let Some(Sink { is_json, out }) = &self.0 else { return };
        let Line { id, method, path, status, time } = line;
        let (now, milliseconds) = (now(), time.as_secs_f64() * 1e3);
        let written = if *is_json {
            let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            let line = json!({
                "time": seconds, "method": method, "path": path, "status": status,
                "milliseconds": milliseconds, "request_id": id,
            });
            format!("{line}\n")
        } else {
            let now = humantime::format_rfc3339_millis(now);
            format!("{now} {method} {path} {status} {milliseconds:.1} ms {id}\n")
        };
        // There is no place to report that the log cannot be written.
        if let Ok(mut out) = out.lock() {
            let _ = out.write_all(written.as_bytes());
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a log says when; nothing is computed from it")]
fn now() -> SystemTime {
    SystemTime::now()
}
