//! How much a client may ask for.

use std::time::Duration;

/// The limits of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Texts of a request.
    pub texts: usize,
    /// Hits of a query.
    pub k: usize,
    /// Whether texts that are too long are cut, unless a request says otherwise.
    pub truncate: bool,
    /// Whether requests may give ids of tokens instead of texts.
    pub allow_token_ids: bool,
    /// Tokens of a batch; `None` for what suits the machine.
    pub batch_tokens: Option<usize>,
    /// Tokens that may wait.
    pub queued_tokens: usize,
    /// Queries of a search that may wait.
    pub queued_queries: usize,
    /// The longest time to an answer, and the time unless a request asks for less.
    pub timeout: Duration,
    /// Open connections. Others wait to be accepted.
    pub connections: usize,
    /// The time that the head of a request may take. A connection may be idle for as long.
    pub head_timeout: Duration,
    /// The time that the body of a request may take.
    pub body_timeout: Duration,
    /// The time in which a client must take something of its answer, or the connection ends.
    pub write_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 8_000_000,
            texts: 2048,
            k: 10_000,
            truncate: true,
            allow_token_ids: false,
            batch_tokens: None,
            queued_tokens: 1 << 20,
            queued_queries: 1024,
            timeout: Duration::from_secs(60),
            connections: 1024,
            // Above the 60 seconds for which proxies usually keep a connection: who closes it first must be
            // the proxy, which would else send a request to nobody.
            head_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}
