//! The hub's HTTP interface: what a repository holds, and what a file is.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use toller_files::FileError;
use ureq::config::RedirectAuthHeaders;
use ureq::http::{HeaderMap, Response, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::super::{ResolveError, ResolveOptions, Token};
use super::cache::is_name;
use super::id::RepoId;
use super::listing::is_safe_path;

const USER_AGENT: &str = concat!("toller/", env!("CARGO_PKG_VERSION"));

/// A listing of 200,000 files takes about this much.
const LISTING_LIMIT_BYTES: u64 = 64 << 20;

/// How often a request is repeated that failed for a reason that may pass.
const ATTEMPTS: u32 = 4;

/// The files of a revision.
#[derive(Debug)]
pub(super) struct Listing {
    /// The commit that the revision stands for.
    pub(super) commit: String,
    /// The paths of its files.
    pub(super) files: Vec<String>,
}

/// What the hub says of a file before it is downloaded.
#[derive(Debug)]
pub(super) struct FileFacts {
    /// The name of its bytes: for large files their sha256.
    pub(super) etag: String,
    /// The size, where the hub says it.
    pub(super) total_bytes: Option<u64>,
}

/// A connection to the hub.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    endpoint: String,
    token: Option<Token>,
}

#[derive(Deserialize)]
struct ModelInfo {
    sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl Client {
    pub(super) fn new(options: &ResolveOptions) -> Result<Self, ResolveError> {
        let roots = options.ca_file.as_deref().map(certificates).transpose()?.unwrap_or(RootCerts::WebPki);
        let agent = Agent::config_builder()
            .user_agent(USER_AGENT)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .http_status_as_error(false)
            // Large files are redirected to other hosts, which must not see the token.
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_resolve(Some(options.answer_timeout))
            .timeout_connect(Some(options.answer_timeout))
            .timeout_recv_response(Some(options.answer_timeout))
            .timeout_per_read(Some(options.stall_timeout))
            .build()
            .new_agent();
        Ok(Self { agent, endpoint: options.endpoint.clone(), token: options.token.clone() })
    }

    /// The commit and the files of a revision.
    pub(super) fn list(&self, repo: &RepoId) -> Result<Listing, ResolveError> {
        let revision = repo.revision.replace('/', "%2F").replace('+', "%2B");
        let url = format!("{}/api/models/{}/revision/{revision}", self.endpoint, repo.id);
        let mut response = persist(|| self.get(&url, None))?;
        let answer = |what: String| ResolveError::Answer { url: url.clone(), what };
        let text = response.body_mut().with_config().limit(LISTING_LIMIT_BYTES).read_to_string();
        let text =
            text.map_err(|source| ResolveError::Network { url: url.clone(), source: Box::new(source) })?;
        let info: ModelInfo = serde_json::from_str(&text).map_err(|error| answer(error.to_string()))?;
        if !is_name(&info.sha) {
            return Err(answer(format!("the commit is {:?}", info.sha)));
        }
        let files =
            info.siblings.into_iter().map(|sibling| sibling.rfilename).filter(|file| is_safe_path(file));
        Ok(Listing { commit: info.sha, files: files.collect() })
    }

    /// The address of a file.
    pub(super) fn file_url(&self, repo: &RepoId, commit: &str, file: &str) -> String {
        let file: String = file.bytes().map(encode_path_byte).collect();
        format!("{}/{}/resolve/{commit}/{file}", self.endpoint, repo.id)
    }

    /// What the hub says of a file. The hub itself answers, with a redirection, for files that lie elsewhere.
    pub(super) fn facts(&self, url: &str) -> Result<FileFacts, ResolveError> {
        let response = persist(|| self.head(url))?;
        let headers = response.headers();
        let etag = text_of(headers, "x-linked-etag").or_else(|| text_of(headers, "etag"));
        let etag =
            etag.map(|etag| etag.trim_start_matches("W/").trim_matches('"')).filter(|etag| is_name(etag));
        let Some(etag) = etag else {
            return Err(ResolveError::Answer { url: url.to_owned(), what: "no usable ETag".to_owned() });
        };
        // The length of a redirection is that of its own page.
        let length = (!response.status().is_redirection()).then_some("content-length");
        let size = text_of(headers, "x-linked-size").or_else(|| text_of(headers, length?));
        Ok(FileFacts { etag: etag.to_owned(), total_bytes: size.and_then(|size| size.parse().ok()) })
    }

    /// Follows redirections inside the hub (a renamed repository), and stops at those that leave it.
    fn head(&self, url: &str) -> Result<Response<Body>, ResolveError> {
        let mut at = url.to_owned();
        for _ in 0..5 {
            let request =
                self.agent.head(&at).config().max_redirects(0).max_redirects_will_error(false).build();
            let request = self.authorized(request);
            let response = request.call().map_err(|source| network(&at, source))?;
            let inside = text_of(response.headers(), "location").filter(|place| {
                response.status().is_redirection() && place.starts_with('/') && !place.starts_with("//")
            });
            match inside {
                Some(place) => at = format!("{}{place}", origin(&self.endpoint)),
                None => return self.accept(&at, response),
            }
        }
        Err(ResolveError::Answer { url: url.to_owned(), what: "it redirects in a circle".to_owned() })
    }

    /// Requests the bytes at `url`, from `start_bytes` on if it is given.
    pub(super) fn get(&self, url: &str, start_bytes: Option<u64>) -> Result<Response<Body>, ResolveError> {
        let mut request = self.authorized(self.agent.get(url));
        if let Some(start_bytes) = start_bytes {
            request = request.header(header::RANGE, format!("bytes={start_bytes}-"));
        }
        let response = request.call().map_err(|source| network(url, source))?;
        self.accept(url, response)
    }

    fn authorized<Any>(&self, request: ureq::RequestBuilder<Any>) -> ureq::RequestBuilder<Any> {
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {}", token.secret())),
            None => request,
        }
    }

    /// Turns a status that is no success into an error, with the hub's own words.
    fn accept(&self, url: &str, response: Response<Body>) -> Result<Response<Body>, ResolveError> {
        let status = response.status();
        if status.is_success() || status.is_redirection() {
            return Ok(response);
        }
        let url = url.to_owned();
        let message = text_of(response.headers(), "x-error-message").map(str::to_owned);
        Err(match status.as_u16() {
            status @ (401 | 403) => {
                ResolveError::Refused { url, status, token_sent: self.token.is_some(), message }
            }
            404 => ResolveError::Absent { url, message },
            status => ResolveError::Status { url, status, message },
        })
    }
}

/// Repeats what fails for a reason that may pass, after waits that double.
pub(super) fn persist<T>(mut request: impl FnMut() -> Result<T, ResolveError>) -> Result<T, ResolveError> {
    let mut wait = Duration::from_millis(200);
    for _ in 1..ATTEMPTS {
        match request() {
            Err(error) if error.is_transient() => std::thread::sleep(wait),
            result => return result,
        }
        wait *= 2;
    }
    request()
}

fn network(url: &str, source: ureq::Error) -> ResolveError {
    ResolveError::Network { url: url.to_owned(), source: Box::new(source) }
}

/// A header's value, if it is text.
pub(super) fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Scheme and host of an address.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find('/').map_or(url.len(), |at| host + at);
    &url[..end]
}

fn encode_path_byte(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    }
}

fn certificates(path: &Path) -> Result<RootCerts, ResolveError> {
    let text = fs::read(path).map_err(FileError::on("read", path))?;
    let certificates: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(ResolveError::Certificates(path.to_owned()));
    }
    Ok(RootCerts::from(certificates))
}

#[cfg(test)]
mod tests {
    use super::{encode_path_byte, origin};

    #[test]
    fn addresses() {
        assert_eq!(origin("https://hub.test/a/b"), "https://hub.test");
        assert_eq!(origin("http://127.0.0.1:80"), "http://127.0.0.1:80");
        let encoded: String = "a/b c#d?.json".bytes().map(encode_path_byte).collect();
        assert_eq!(encoded, "a/b%20c%23d%3F.json");
    }
}
