//! Why a model could not be resolved.

use std::fmt::{self, Write};
use std::path::PathBuf;

use toller_files::FileError;

/// A place that was looked in, and what was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The place: a folder, the list of known models, the address of the hub.
    pub place: String,
    /// What was found: "does not exist", "no such name".
    pub found: String,
}

impl fmt::Display for Looked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.found)
    }
}

/// Why a model could not be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// There is no such model anywhere.
    #[error("no model `{name}`; looked in:{}", list(.looked))]
    NotFound {
        /// What was asked for.
        name: String,
        /// Every place that was looked in.
        looked: Vec<Looked>,
        /// Why the last place had no answer, if that is more than its absence.
        #[source]
        cause: Option<Box<Self>>,
    },
    /// The name is the path of a file.
    #[error("the model {} is a file, and a model is a directory", .0.display())]
    IsAFile(PathBuf),
    /// A directory lacks files that a model needs.
    #[error("the model directory {} lacks {}", .directory.display(), .missing.join(", "))]
    Incomplete {
        /// The directory.
        directory: PathBuf,
        /// The files, relative to it.
        missing: Vec<String>,
    },
    /// A JSON file of the model cannot be read as what it should be.
    #[error("cannot read {}: {source}", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A file is not the one that its checksum promises.
    #[error("{} is damaged or is another file: sha256 {found}, not {expected}", .path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The sha256 that it should have.
        expected: String,
        /// The sha256 that it has.
        found: String,
    },
    /// The hub is to be asked and the network is forbidden.
    #[error("not asked: HF_HUB_OFFLINE forbids the network")]
    Offline,
    /// The hub wants a token (401), or refuses the one that was sent (403).
    #[error("{url} answers {status}{}", detail(.message))]
    Refused {
        /// What was asked for.
        url: String,
        /// 401 or 403.
        status: u16,
        /// Whether a token was sent.
        token_sent: bool,
        /// The hub's own words.
        message: Option<String>,
    },
    /// The hub does not have it (404).
    #[error("{url} answers 404{}", detail(.message))]
    Absent {
        /// What was asked for.
        url: String,
        /// The hub's own words.
        message: Option<String>,
    },
    /// The hub answers with another status.
    #[error("{url} answers {status}{}", detail(.message))]
    Status {
        /// What was asked for.
        url: String,
        /// The status.
        status: u16,
        /// The hub's own words.
        message: Option<String>,
    },
    /// The hub cannot be reached, or the connection broke.
    #[error("cannot reach {url}: {source}")]
    Network {
        /// What was asked for.
        url: String,
        /// What went wrong.
        source: Box<ureq::Error>,
    },
    /// A download ended early.
    #[error("the download of {url} ended after {done_bytes} of {total_bytes} bytes")]
    Truncated {
        /// What was downloaded.
        url: String,
        /// Bytes that came.
        done_bytes: u64,
        /// Bytes that were promised.
        total_bytes: u64,
    },
    /// The hub's answer is not what a hub answers.
    #[error("{url} does not answer as a hub does: {what}")]
    Answer {
        /// What was asked for.
        url: String,
        /// What is wrong with the answer.
        what: String,
    },
    /// The certificates to trust cannot be used.
    #[error("{} holds no certificate", .0.display())]
    Certificates(PathBuf),
    /// A known model that is published for another framework only.
    #[error("{name} is a checkpoint of PaddlePaddle, which cannot be loaded as it is")]
    NeedsConversion {
        /// The model's name.
        name: &'static str,
        /// Where the checkpoint is.
        url: String,
        /// Where the name looks for the converted model.
        directory: PathBuf,
    },
    /// A manifest of `models/` is wrong.
    #[error("models/{name}.toml: {source}")]
    Manifest {
        /// The model's name.
        name: &'static str,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl ResolveError {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotFound { cause: Some(cause), .. } => return cause.hint(),
            Self::NotFound { cause: None, .. } => {
                "give a directory, an id of the hub as org/name, or one of the known names".to_owned()
            }
            Self::IsAFile(path) => format!("give its directory: {}", parent(path)),
            Self::Incomplete { .. } => {
                "a model directory holds config.json, tokenizer.json or vocab.txt, and model.safetensors or \
                 pytorch_model.bin; sentence-transformers adds modules.json and a folder for each module"
                    .to_owned()
            }
            Self::Checksum { path, .. } => format!("delete {} and run the same command again", parent(path)),
            Self::NeedsConversion { url, directory, .. } => format!(
                "download and unpack {url}, and run `toller convert FOLDER --output {}`: the name then stands for it",
                directory.display()
            ),
            Self::Offline => {
                "unset HF_HUB_OFFLINE to download it, or give the directory of a copy".to_owned()
            }
            Self::Refused { status: 403, .. } => {
                "the token has no access: accept the model's terms on its page, or use the token of an account that has"
                    .to_owned()
            }
            Self::Refused { token_sent: false, .. } => {
                "check the spelling (the hub says the same of a name that it does not have); for a private or \
                 gated model set HF_TOKEN"
                    .to_owned()
            }
            Self::Refused { .. } => "the token was not accepted: check HF_TOKEN, or the file HF_HOME/token".to_owned(),
            Self::Absent { .. } => "check the spelling of the id, and of the revision after the @".to_owned(),
            Self::Status { .. } | Self::Truncated { .. } => {
                "run the same command again: what was downloaded is kept".to_owned()
            }
            Self::Network { .. } => {
                "check the network, HTTPS_PROXY and HF_ENDPOINT, or give the directory of a copy".to_owned()
            }
            Self::Answer { .. } => "check HF_ENDPOINT, and that no proxy answers in the hub's place".to_owned(),
            Self::Certificates(_) => "check SSL_CERT_FILE and REQUESTS_CA_BUNDLE".to_owned(),
            Self::Interrupted => "run the same command again: what was downloaded is kept".to_owned(),
            Self::File(error) => return error.hint(),
            Self::Json { .. } | Self::Manifest { .. } => return None,
        };
        Some(hint)
    }

    /// Whether asking again may help.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => matches!(status, 408 | 416 | 429 | 500..),
            Self::Network { source, .. } => match &**source {
                ureq::Error::Io(error) => error.kind() != std::io::ErrorKind::ConnectionRefused,
                ureq::Error::Protocol(_) => true,
                // No address, no connection, no trust: waiting a second does not help.
                _ => false,
            },
            Self::Truncated { .. } => true,
            _ => false,
        }
    }
}

fn parent(path: &std::path::Path) -> String {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(std::path::Path::new(".")).display().to_string()
}

fn detail(message: &Option<String>) -> String {
    message.as_ref().map(|message| format!(" ({message})")).unwrap_or_default()
}

fn list(looked: &[Looked]) -> String {
    looked.iter().fold(String::new(), |mut text, looked| {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {looked}");
        text
    })
}
