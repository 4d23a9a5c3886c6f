//! Why a server cannot start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use toller_files::FileError;
use toller_ir::{AnyError, ErrorPlace, Explain, Position, Remedy, counted};

/// Why a server cannot start, or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// A thread or a handler of signals cannot be started.
    #[error("cannot start the server: {0}")]
    Start(#[source] io::Error),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line of a file of keys is not of its form.
    #[error("{}, line {line}: not a key with its rights", path.display())]
    KeyLine {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// A file of keys without a key.
    #[error("{}: there is no key", path.display())]
    NoKeys {
        /// The file.
        path: PathBuf,
    },
    /// A file of TLS that cannot be used.
    #[error("{}: {reason}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// What is searched cannot be opened.
    #[error(transparent)]
    Open(#[from] AnyError),
    /// Requests that were not answered before the end.
    #[error("{} not answered in the time for shutting down", were(*.requests))]
    Undrained {
        /// How many.
        requests: usize,
    },
    /// Requests that were not answered, since the server was asked to end for the second time.
    #[error("{} not answered: the server was asked again to end", were(*.requests))]
    Stopped {
        /// How many.
        requests: usize,
    },
}

fn were(requests: usize) -> String {
    let verb = if requests == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(requests, "request"))
}

impl Explain for ServerError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Listen { source, .. } => match source.kind() {
                io::ErrorKind::AddrInUse => {
                    "choose another port, or stop the server that uses this one".into()
                }
                io::ErrorKind::AddrNotAvailable => "choose an address of this machine".into(),
                _ => return source.remedy(),
            },
            Self::Start(source) => return source.remedy(),
            Self::File(error) => return error.remedy(),
            Self::KeyLine { .. } => "write `read KEY` or `admin KEY`, one key a line".into(),
            Self::NoKeys { .. } => "write a key, as in `read KEY`, or serve without a file of keys".into(),
            Self::Tls { .. } => {
                "give a chain of certificates and the key of the first one, both as PEM".into()
            }
            Self::Open(error) => return error.remedy(),
            Self::Undrained { .. } => "give the requests more time".into(),
            Self::Stopped { .. } => return None,
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::Open(error) => error.place(),
            Self::KeyLine { path, line } => {
                Some(ErrorPlace { position: Some(Position::Line(*line as u64)), ..ErrorPlace::of_file(path) })
            }
            Self::NoKeys { path } | Self::Tls { path, .. } => Some(ErrorPlace::of_file(path)),
            Self::Listen { .. } | Self::Start(_) | Self::Undrained { .. } | Self::Stopped { .. } => None,
        }
    }
}
