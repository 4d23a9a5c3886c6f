//! Where models are looked for, and how.

use std::env::{home_dir, temp_dir};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Proxy;

use crate::env::{self, Variable};

/// A hub token. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token in `text`, without surrounding white space; `None` if nothing remains.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The token itself, for the `Authorization` header.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(..)")
    }
}

/// Where models are looked for, and whether and how the hub is asked.
#[derive(Clone, Debug)]
pub struct ResolveOptions {
    /// Address of the hub, without a slash at the end.
    pub endpoint: String,
    /// The hub cache: `models--org--name/{blobs,refs,snapshots}`, shared with `huggingface_hub`.
    pub hub_cache: PathBuf,
    /// Toller's own downloads: `models/NAME`.
    pub toller_cache: PathBuf,
    /// Sent to the scheme, host and port of `endpoint`, and nowhere else.
    pub token: Option<Token>,
    /// Whether the network is forbidden.
    pub offline: bool,
    /// The proxy between this machine and the hub.
    pub proxy: Option<Proxy>,
    /// A file of certificates (PEM) to trust instead of the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// How long to wait for a connection and for the hub's answer.
    pub answer_timeout: Duration,
    /// How long a download may pause.
    pub stall_timeout: Duration,
    /// The wait before a request that failed is sent again; each further wait is twice as long.
    pub retry_wait: Duration,
}

impl ResolveOptions {
    /// The options that the environment sets. Its variables mean what they mean to the Python package
    /// `huggingface_hub`; the proxy is read from `HTTPS_PROXY`, `NO_PROXY` and their relatives.
    #[must_use]
    pub fn from_env() -> Self {
        Self { proxy: Proxy::try_from_env(), ..Self::from_lookup(&|variable| variable.get()) }
    }

    /// The options that the values of `lookup` set.
    fn from_lookup(lookup: &dyn Fn(&Variable) -> Option<OsString>) -> Self {
        let first = |variables: &[Variable]| variables.iter().find_map(lookup);
        let text =
            |variables: &[Variable]| first(variables).map(|value| value.to_string_lossy().into_owned());
        let flag = |variables: &[Variable]| text(variables).is_some_and(|value| is_true(&value));
        let folder = |variables: &[Variable]| text(variables).map(|value| expand(&value, lookup));
        let seconds = |variable: Variable| {
            let count =
                text(&[variable]).and_then(|value| value.trim().parse().ok()).filter(|count| *count > 0);
            Duration::from_secs(count.unwrap_or(10))
        };

        let caches = folder(&[env::XDG_CACHE_HOME])
            .unwrap_or_else(|| home_dir().unwrap_or_else(temp_dir).join(".cache"));
        let hf_home = folder(&[env::HF_HOME]).unwrap_or_else(|| caches.join("huggingface"));
        let token_path = folder(&[env::HF_TOKEN_PATH]).unwrap_or_else(|| hf_home.join("token"));
        let token = if flag(&[env::HF_HUB_DISABLE_IMPLICIT_TOKEN]) {
            None
        } else {
            text(&[env::HF_TOKEN, env::HUGGING_FACE_HUB_TOKEN])
                .and_then(|value| Token::new(&value))
                .or_else(|| read_token(&token_path))
        };
        let endpoint = text(&[env::HF_ENDPOINT]).unwrap_or_else(|| "https://huggingface.co".to_owned());

        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            hub_cache: folder(&[env::HF_HUB_CACHE, env::HUGGINGFACE_HUB_CACHE])
                .unwrap_or_else(|| hf_home.join("hub")),
            toller_cache: folder(&[env::TOLLER_CACHE]).unwrap_or_else(|| caches.join("toller")),
            token,
            offline: flag(&[env::HF_HUB_OFFLINE, env::TRANSFORMERS_OFFLINE]),
            proxy: None,
            ca_file: folder(&[env::SSL_CERT_FILE, env::REQUESTS_CA_BUNDLE]),
            answer_timeout: seconds(env::HF_HUB_ETAG_TIMEOUT),
            stall_timeout: seconds(env::HF_HUB_DOWNLOAD_TIMEOUT),
            retry_wait: Duration::from_millis(200),
        }
    }
}

/// The token in a file. The file is missing if the user has not logged in, and this is not an error.
fn read_token(path: &Path) -> Option<Token> {
    fs::read_to_string(path).ok().and_then(|text| Token::new(&text))
}

fn is_true(value: &str) -> bool {
    ["1", "on", "yes", "true"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// A path in which a leading `~`, `$NAME` and `${NAME}` are replaced, as `huggingface_hub` does for folders.
/// An unknown name is not replaced.
fn expand(text: &str, lookup: &dyn Fn(&Variable) -> Option<OsString>) -> PathBuf {
    let mut path = String::new();
    let mut rest = text;
    if let Some(home) = home_dir().filter(|_| rest == "~" || rest.starts_with("~/")) {
        path.push_str(&home.to_string_lossy());
        rest = &rest[1..];
    }
    while let Some((before, after)) = rest.split_once('$') {
        path.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, tail) = braced.unwrap_or_else(|| {
            let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
            after.split_at(after.find(|character| !is_name(character)).unwrap_or(after.len()))
        });
        let declared = env::ALL.iter().find(|variable| variable.name == name);
        let value = declared.map_or_else(|| env::value_of(name), lookup);
        match value {
            Some(value) => path.push_str(&value.to_string_lossy()),
            None => path.push_str(&rest[before.len()..rest.len() - tail.len()]),
        }
        rest = tail;
    }
    path.push_str(rest);
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::ffi::OsString;
    use std::fs;
    use std::path::Path;

    use super::{ResolveOptions, Token};

    fn options(pairs: &[(&str, &str)]) -> ResolveOptions {
        ResolveOptions::from_lookup(&|variable| {
            let pair = pairs.iter().find(|(name, _)| *name == variable.name);
            pair.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn each_folder_has_its_order_of_variables() {
        let base = ("XDG_CACHE_HOME", "/c");
        assert_eq!(options(&[base]).hub_cache, Path::new("/c/huggingface/hub"));
        assert_eq!(options(&[base]).toller_cache, Path::new("/c/toller"));
        assert_eq!(options(&[base, ("HF_HOME", "/h")]).hub_cache, Path::new("/h/hub"));
        assert_eq!(
            options(&[("HF_HOME", "/h"), ("HUGGINGFACE_HUB_CACHE", "/old")]).hub_cache,
            Path::new("/old")
        );
        let both = [("HF_HUB_CACHE", "/new"), ("HUGGINGFACE_HUB_CACHE", "/old")];
        assert_eq!(options(&both).hub_cache, Path::new("/new"));
        assert_eq!(options(&[base, ("HF_HOME", "$XDG_CACHE_HOME/x")]).hub_cache, Path::new("/c/x/hub"));
        assert_eq!(options(&[base, ("HF_HOME", "${XDG_CACHE_HOME}y")]).hub_cache, Path::new("/cy/hub"));
        assert_eq!(options(&[("HF_HOME", "/$NO_SUCH_NAME/z")]).hub_cache, Path::new("/$NO_SUCH_NAME/z/hub"));
        assert!(!options(&[("HF_HOME", "~/hf")]).hub_cache.starts_with("~"));
    }

    #[test]
    fn flags_endpoint_and_timeouts() {
        assert!(["1", "true", "YES", "On"].iter().all(|value| options(&[("HF_HUB_OFFLINE", value)]).offline));
        assert!(["0", "false", "no", "2"].iter().all(|value| !options(&[("HF_HUB_OFFLINE", value)]).offline));
        assert!(options(&[("TRANSFORMERS_OFFLINE", "1")]).offline);
        assert_eq!(options(&[]).endpoint, "https://huggingface.co");
        assert_eq!(options(&[("HF_ENDPOINT", "http://hub.test/")]).endpoint, "http://hub.test");
        assert_eq!(options(&[("HF_HUB_ETAG_TIMEOUT", "3")]).answer_timeout.as_secs(), 3);
        assert_eq!(options(&[("HF_HUB_DOWNLOAD_TIMEOUT", "soon")]).stall_timeout.as_secs(), 10);
    }

    #[test]
    fn the_token_comes_from_the_variable_then_the_file_and_is_never_shown() -> Result<(), Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        fs::write(home.path().join("token"), " from_file\n")?;
        let home = ("HF_HOME", home.path().to_str().ok_or("temporary path is not UTF-8")?);
        let secret = |options: ResolveOptions| options.token.map(|token| token.secret().to_owned());
        assert_eq!(secret(options(&[home])).as_deref(), Some("from_file"));
        assert_eq!(
            secret(options(&[home, ("HF_TOKEN", "from_variable\n")])).as_deref(),
            Some("from_variable")
        );
        assert_eq!(secret(options(&[home, ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"), ("HF_TOKEN", "x")])), None);
        assert_eq!(secret(options(&[("HF_HOME", "/no/such/folder")])), None);
        assert!(!format!("{:?}", options(&[home])).contains("from_file"));
        assert_eq!(Token::new(" \r\n"), None);
        Ok(())
    }
}
