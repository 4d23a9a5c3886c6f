//! The flags of what a client may ask for.

use std::time::Duration;

use toller_server::Limits;

/// Flags of limits.
#[derive(Debug, clap::Args)]
pub(super) struct LimitArgs {
    /// Bytes of a request's body
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body_bytes, value_parser = at_least_1)]
    payload_limit: usize,

    /// Texts of a request
    #[arg(long, value_name = "N", default_value_t = Limits::default().texts, value_parser = at_least_1)]
    max_client_batch_size: usize,

    /// Hits of a query
    #[arg(long, value_name = "N", default_value_t = Limits::default().k, value_parser = at_least_1)]
    max_k: usize,

    /// Refuse texts that are too long for the model, unless a request asks to truncate them
    #[arg(long)]
    no_truncate: bool,

    /// Accept ids of tokens instead of texts
    #[arg(long)]
    allow_token_ids: bool,

    /// Tokens of the batches in which the requests of several clients are computed [default: 256 on the
    /// CPU, and what `encode` takes on a GPU]
    #[arg(long, value_name = "N", value_parser = at_least_1)]
    shared_batch_tokens: Option<usize>,

    /// Tokens that may wait; requests beyond are answered with 429
    #[arg(long, value_name = "N", default_value_t = Limits::default().queued_tokens, value_parser = at_least_1)]
    max_queued_tokens: usize,

    /// Queries of searches that may wait
    #[arg(long, value_name = "N", default_value_t = Limits::default().queued_queries, value_parser = at_least_1)]
    max_queued_queries: usize,

    /// The longest time to an answer, in milliseconds; a request may ask for less with x-timeout-ms
    #[arg(long, value_name = "MS", default_value_t = Limits::default().timeout.as_millis() as u64,
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    timeout_ms: u64,

    /// Open connections
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections, value_parser = at_least_1)]
    max_connections: usize,

    /// Time that a connection may be idle, and that the head of a request may take, in seconds
    #[arg(long, value_name = "N", default_value_t = Limits::default().head_timeout.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    idle_seconds: u64,
}

fn at_least_1(text: &str) -> Result<usize, String> {
    // A semaphore has room for this many.
    let most = usize::MAX >> 3;
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| "a whole number from 1".to_owned())
}

impl LimitArgs {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            body_bytes: self.payload_limit,
            texts: self.max_client_batch_size,
            k: self.max_k,
            truncate: !self.no_truncate,
            allow_token_ids: self.allow_token_ids,
            batch_tokens: self.shared_batch_tokens,
            queued_tokens: self.max_queued_tokens,
            queued_queries: self.max_queued_queries,
            timeout: Duration::from_millis(self.timeout_ms),
            connections: self.max_connections,
            head_timeout: Duration::from_secs(self.idle_seconds),
            ..Limits::default()
        }
    }
}
