//! The hub's HTTP interface: which files a revision has, what one file is, and its bytes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use toller_checkpoint::stays_inside;
use toller_files::FileError;
use ureq::http::{HeaderMap, Method, Request, Response, Uri, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use crate::cache::is_name;
use crate::id::RepoId;
use crate::{ResolveError, ResolveOptions, Token};

const USER_AGENT: &str = concat!("toller/", env!("CARGO_PKG_VERSION"));

/// What is escaped in one segment of a path: all but the unreserved characters of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What is escaped in a path of several segments.
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// The largest listing that is read; one of 200,000 files has about this size.
const LISTING_LIMIT_BYTES: u64 = 64 << 20;

/// How many times a request is sent if it fails for a reason that may pass.
const ATTEMPTS: u32 = 4;

/// How many redirections are followed.
const REDIRECTIONS: u32 = 8;

/// The files of a revision.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The commit that the revision means.
    pub(crate) commit: String,
    /// The paths of its files.
    pub(crate) files: Vec<String>,
}

/// What the hub says about a file before it is downloaded.
#[derive(Debug)]
pub(crate) struct FileFacts {
    /// The name of its bytes. For large files this is their sha256.
    pub(crate) etag: String,
    /// The size, if the hub announces one.
    pub(crate) total_bytes: Option<u64>,
}

/// A connection to the hub.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
    endpoint: String,
    token: Option<Token>,
    retry_wait: Duration,
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
    pub(crate) fn new(options: &ResolveOptions) -> Result<Self, ResolveError> {
        let agent = agent(options)?;
        Ok(Self {
            agent,
            endpoint: options.endpoint.clone(),
            token: options.token.clone(),
            retry_wait: options.retry_wait,
        })
    }

    /// The commit and the files of a revision.
    pub(crate) fn list(&self, repo: &RepoId) -> Result<Listing, ResolveError> {
        let revision = utf8_percent_encode(&repo.revision, SEGMENT);
        let url = format!("{}/api/models/{}/revision/{revision}", self.endpoint, repo.id);
        let mut response = self.persist(|| self.get(&url, None))?;
        let text = response.body_mut().with_config().limit(LISTING_LIMIT_BYTES).read_to_string();
        let text = text.map_err(|source| network(&url, source))?;
        let info: ModelInfo = serde_json::from_str(&text).map_err(|error| odd(&url, error.to_string()))?;
        if !is_name(&info.sha) {
            return Err(odd(&url, format!("the commit is {:?}", info.sha)));
        }
        let files = info.siblings.into_iter().map(|sibling| sibling.rfilename);
        Ok(Listing { commit: info.sha, files: files.filter(|file| stays_inside(file)).collect() })
    }

    /// The address of a file.
    pub(crate) fn file_url(&self, repo: &RepoId, commit: &str, file: &str) -> String {
        format!("{}/{}/resolve/{commit}/{}", self.endpoint, repo.id, utf8_percent_encode(file, PATH))
    }

    /// What the hub says about a file.
    pub(crate) fn facts(&self, url: &str) -> Result<FileFacts, ResolveError> {
        let response = self.persist(|| self.send(&Method::HEAD, url, None))?;
        let headers = response.headers();
        let etag = text_of(headers, "x-linked-etag").or_else(|| text_of(headers, "etag"));
        let etag =
            etag.map(|etag| etag.trim_start_matches("W/").trim_matches('"')).filter(|etag| is_name(etag));
        let etag = etag.ok_or_else(|| odd(url, "no usable ETag".to_owned()))?.to_owned();
        // A redirection gives the length of its own page.
        let length = (!response.status().is_redirection()).then_some("content-length");
        let size = text_of(headers, "x-linked-size").or_else(|| text_of(headers, length?));
        Ok(FileFacts { etag, total_bytes: size.and_then(|size| size.parse().ok()) })
    }

    /// Requests the bytes at `url`, from `start_bytes` on if it is given.
    pub(crate) fn get(&self, url: &str, start_bytes: Option<u64>) -> Result<Response<Body>, ResolveError> {
        self.send(&Method::GET, url, start_bytes)
    }

    /// Sends a request and follows its redirections. The token is sent only to the hub's own scheme, host and
    /// port: the hub redirects large files to other servers, which must not see it.
    ///
    /// A `HEAD` ends where the hub has described the file, or would leave the hub.
    fn send(
        &self,
        method: &Method,
        url: &str,
        start_bytes: Option<u64>,
    ) -> Result<Response<Body>, ResolveError> {
        let address = |text: &str| {
            text.parse::<Uri>().map_err(|error| network(url, ureq::http::Error::from(error).into()))
        };
        let hub = address(&self.endpoint)?;
        let is_hub = |at: &Uri| at.scheme() == hub.scheme() && at.authority() == hub.authority();
        let mut at = address(url)?;
        for _ in 0..REDIRECTIONS {
            let mut request = Request::builder().method(method).uri(&at);
            if let Some(token) = self.token.as_ref().filter(|_| is_hub(&at)) {
                request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.secret()));
            }
            if let Some(start_bytes) = start_bytes {
                request = request.header(header::RANGE, format!("bytes={start_bytes}-"));
            }
            let request = request.body(()).map_err(|error| network(url, error.into()))?;
            let response = self.agent.run(request).map_err(|source| network(url, source))?;
            let headers = response.headers();
            let location = text_of(headers, "location").filter(|_| response.status().is_redirection());
            let Some(location) = location else { return self.accept(url, response) };
            at = join(&at, location).ok_or_else(|| odd(url, format!("it redirects to {location:?}")))?;
            if method == Method::HEAD && (headers.contains_key("x-linked-etag") || !is_hub(&at)) {
                return Ok(response);
            }
        }
        Err(odd(url, "it redirects in a circle".to_owned()))
    }

    /// Repeats what fails for a reason that may pass, after waits that double.
    pub(crate) fn persist<T>(
        &self,
        mut request: impl FnMut() -> Result<T, ResolveError>,
    ) -> Result<T, ResolveError> {
        let mut wait = self.retry_wait;
        for _ in 1..ATTEMPTS {
            match request() {
                Err(error) if error.is_transient() => std::thread::sleep(wait),
                result => return result,
            }
            wait *= 2;
        }
        request()
    }

    /// Turns a status that is not a success into an error, with the hub's own words.
    fn accept(&self, url: &str, response: Response<Body>) -> Result<Response<Body>, ResolveError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(ResolveError::Status {
            url: url.to_owned(),
            status: status.as_u16(),
            token_sent: self.token.is_some(),
            message: text_of(response.headers(), "x-error-message").map(str::to_owned),
        })
    }
}

/// The address that a redirection from `at` leads to.
fn join(at: &Uri, location: &str) -> Option<Uri> {
    let mut parts = location.parse::<Uri>().ok()?.into_parts();
    if location.starts_with('/') {
        (parts.scheme, parts.authority) = (at.scheme().cloned(), at.authority().cloned());
    }
    Uri::from_parts(parts).ok().filter(|place| matches!(place.scheme_str(), Some("http" | "https")))
}

fn network(url: &str, source: ureq::Error) -> ResolveError {
    ResolveError::Network { url: url.to_owned(), source: Box::new(source) }
}

fn odd(url: &str, what: String) -> ResolveError {
    ResolveError::Answer { url: url.to_owned(), what }
}

/// A client of HTTP with the options' proxy, certificates and timeouts. It follows no redirection, and a
/// status that is not a success is not an error.
///
/// # Errors
/// When the file of certificates cannot be used.
pub fn agent(options: &ResolveOptions) -> Result<Agent, ResolveError> {
    let roots = options.ca_file.as_deref().map(certificates).transpose()?.unwrap_or(RootCerts::WebPki);
    let config = Agent::config_builder()
        .user_agent(USER_AGENT)
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .proxy(options.proxy.clone())
        .http_status_as_error(false)
        // `Client::send` follows redirections itself, since it decides which of them may see the token.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_resolve(Some(options.answer_timeout))
        .timeout_connect(Some(options.answer_timeout))
        .timeout_recv_response(Some(options.answer_timeout))
        .timeout_per_read(Some(options.stall_timeout))
        .build();
    Ok(config.new_agent())
}

/// A header's value, if it is text.
pub(crate) fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The certificates in a PEM file.
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
    use super::{PATH, SEGMENT, join, utf8_percent_encode};

    #[test]
    fn paths_are_escaped() {
        assert_eq!(utf8_percent_encode("a/b c#d?.json", PATH).to_string(), "a/b%20c%23d%3F.json");
        assert_eq!(utf8_percent_encode("refs/pr/1+x", SEGMENT).to_string(), "refs%2Fpr%2F1%2Bx");
    }

    #[test]
    fn redirections_lead_to_http_addresses_alone() {
        let at = "https://hub.test:8443/a/b?c".parse().unwrap_or_default();
        let next = |location| join(&at, location).map(|place| place.to_string());
        assert_eq!(next("/d?e").as_deref(), Some("https://hub.test:8443/d?e"));
        assert_eq!(next("http://other.test/d").as_deref(), Some("http://other.test/d"));
        for wrong in ["", "d/e", "file:///etc/passwd", "other.test:80", "http://a b/"] {
            assert_eq!(next(wrong), None, "{wrong}");
        }
    }
}
