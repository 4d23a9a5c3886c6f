//! Why a model could not be resolved.

use std::fmt::{self, Write};
use std::path::PathBuf;

use toller_checkpoint::{ADAPTER_CONFIG, ModelError};
use toller_files::FileError;
use toller_ir::{Command, ErrorPlace, Explain, Remedy, Setting, remedy};

/// A place where a model was looked for, and what was found there.
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
        /// The name.
        name: String,
        /// Every place where the model was looked for.
        looked: Vec<Looked>,
        /// Why the last place could not answer, if the model is not simply absent there.
        #[source]
        cause: Option<Box<Self>>,
    },
    /// The name is the path of a file.
    #[error("the model {} is a file, and a model is a directory", .0.display())]
    IsAFile(PathBuf),
    /// Files that a model needs are missing in its directory.
    #[error("the model directory {} has no {}", .directory.display(), .missing.join(", "))]
    Incomplete {
        /// The directory.
        directory: PathBuf,
        /// The files, relative to it.
        missing: Vec<String>,
    },
    /// A directory with an adapter of PEFT, and without the model that it changes.
    #[error("{} is an adapter (adapter_config.json) without its model", .directory.display())]
    Adapter {
        /// The directory.
        directory: PathBuf,
    },
    /// The model that an adapter changes cannot be found.
    #[error("the model of the adapter in {}: {cause}", .adapter.display())]
    BaseOfAdapter {
        /// The adapter's directory.
        adapter: PathBuf,
        /// What is wrong with its model.
        cause: Box<Self>,
    },
    /// A JSON file of the model cannot be read.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The checksum of a file is wrong.
    #[error("{} is damaged or is another file: sha256 {found}, not {expected}", .path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The sha256 that the file should have.
        expected: String,
        /// The sha256 that the file has.
        found: String,
    },
    /// A public file is not the one that is known.
    #[error("{} is not the published file: {what}", .path.display())]
    NotPublished {
        /// The file.
        path: PathBuf,
        /// How it differs.
        what: String,
    },
    /// The hub would have to be asked, and the options do not allow the network.
    #[error("not asked: the network is not allowed (offline)")]
    Offline,
    /// The hub answers with a status that is not a success: it requires a token (401), refuses the token that
    /// was sent (403), or has no such model, revision or file (404).
    #[error("{url} answers {status}{}", detail(.message))]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: u16,
        /// Whether a token was sent.
        token_sent: bool,
        /// The hub's own words.
        message: Option<String>,
    },
    /// The hub cannot be reached, or the connection broke.
    #[error("cannot reach {url}: {source}")]
    Network {
        /// The address.
        url: String,
        /// What went wrong.
        source: Box<ureq::Error>,
    },
    /// A download ended early.
    #[error("the download of {url} ended after {done_bytes} of {total_bytes} bytes")]
    Truncated {
        /// The address.
        url: String,
        /// Bytes that arrived.
        done_bytes: u64,
        /// Bytes that were announced.
        total_bytes: u64,
    },
    /// A server sends more than it announced.
    #[error("{url} sends more than the expected {limit_bytes} bytes")]
    Oversized {
        /// The address.
        url: String,
        /// The announced size, or the largest that is taken without an announcement.
        limit_bytes: u64,
    },
    /// The answer is not one of a hub.
    #[error("{url} does not answer as a hub does: {what}")]
    Answer {
        /// The address.
        url: String,
        /// What is wrong with the answer.
        what: String,
    },
    /// The certificates to trust cannot be used.
    #[error("{} holds no certificate", .0.display())]
    Certificates(PathBuf),
    /// The known model is published for another framework only.
    #[error("{name} is a checkpoint of PaddlePaddle, which cannot be loaded as it is")]
    NeedsConversion {
        /// The model's name.
        name: &'static str,
        /// Where the checkpoint is.
        url: String,
        /// Where the converted model is looked for.
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
    /// The caller stopped the resolution.
    #[error("interrupted")]
    Interrupted,
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for ResolveError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::NotFound { cause: Some(cause), .. } => return cause.remedy(),
            Self::NotFound { cause: None, .. } => {
                "give a directory, an id of the hub (org/name), or a known name".into()
            }
            Self::IsAFile(path) => format!("give its directory: {}", parent(path)).into(),
            Self::Incomplete { .. } => {
                "a model directory holds config.json, tokenizer.json or vocab.txt, and model.safetensors \
                 or pytorch_model.bin; sentence-transformers adds modules.json and a folder for each \
                 module"
                    .into()
            }
            Self::Adapter { .. } => {
                "name its model in base_model_name_or_path, if it is LoRA, or put the model's files next to it; \
                 PEFT merges other adapters into their model, model.merge_and_unload().save_pretrained(DIR), \
                 with the tokenizer next to it"
                    .into()
            }
            Self::BaseOfAdapter { adapter, cause } => {
                let config = adapter.join(ADAPTER_CONFIG);
                let place = format!("base_model_name_or_path in {} names it", config.display());
                match cause.remedy() {
                    Some(remedy) => remedy.and(format!("; {place}")),
                    None => place.into(),
                }
            }
            Self::Checksum { path, .. } => {
                format!("delete {} and run the same command again", parent(path)).into()
            }
            Self::NotPublished { .. } => {
                "remove it if it is there, and run the same command again; the publisher may have changed the file"
                    .into()
            }
            Self::NeedsConversion { url, directory, .. } => {
                let output = Setting::Output.to(directory.display().to_string());
                remedy!(
                    "download and unpack {}, then run `{} FOLDER {}`",
                    url.clone(),
                    Command::Convert,
                    output,
                )
            }
            Self::Offline => {
                "unset HF_HUB_OFFLINE to download it, or give the directory of a copy".into()
            }
            Self::Status { status: 403, .. } => {
                "accept the terms on the model's page, or use the token of an account that has access".into()
            }
            Self::Status { status: 401, token_sent: false, .. } => {
                "check the spelling (the hub gives this answer for unknown names too); for a private or \
                 gated model set HF_TOKEN"
                    .into()
            }
            Self::Status { status: 401, .. } => "check HF_TOKEN, or the file HF_HOME/token".into(),
            Self::Status { status: 404, .. } => {
                "check the spelling of the id, and of the revision after the @".into()
            }
            Self::Status { .. } | Self::Truncated { .. } => {
                "run the same command again: what was downloaded is kept".into()
            }
            Self::Network { .. } => {
                "check the network, HTTPS_PROXY and HF_ENDPOINT, or give the directory of a copy".into()
            }
            Self::Answer { .. } | Self::Oversized { .. } => {
                "check HF_ENDPOINT, and that no proxy answers instead of the hub".into()
            }
            Self::Certificates(_) => "check SSL_CERT_FILE and REQUESTS_CA_BUNDLE".into(),
            Self::Interrupted => "run the same command again: what was downloaded is kept".into(),
            Self::File(error) => return error.remedy(),
            Self::Model(error) => return error.remedy(),
            Self::Manifest { .. } => return None,
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::NotFound { cause: Some(cause), .. } => cause.place(),
            Self::IsAFile(path)
            | Self::Incomplete { directory: path, .. }
            | Self::Adapter { directory: path }
            | Self::BaseOfAdapter { adapter: path, .. }
            | Self::Checksum { path, .. }
            | Self::NotPublished { path, .. }
            | Self::Certificates(path) => Some(ErrorPlace::of_file(path)),
            Self::File(error) => error.place(),
            Self::Model(error) => error.place(),
            _ => None,
        }
    }
}

impl ResolveError {
    /// Whether the same request may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => matches!(status, 408 | 416 | 429 | 500..),
            Self::Network { source, .. } => match &**source {
                ureq::Error::Io(error) => error.kind() != std::io::ErrorKind::ConnectionRefused,
                ureq::Error::Protocol(_) => true,
                ureq::Error::Timeout(phase) => {
                    !matches!(phase, ureq::Timeout::Resolve | ureq::Timeout::Connect)
                }
                // An unknown host, no connection, or an untrusted certificate: waiting does not help.
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
