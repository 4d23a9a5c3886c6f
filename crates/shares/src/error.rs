//! What can be wrong with partial runs.

use std::path::PathBuf;

use toller_corpus::RunWriteError;
use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy};

/// Why a partial run cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartialRunError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another kind of file.
    #[error("{} is not a partial run", .0.display())]
    Foreign(PathBuf),
    /// Another version of the format.
    #[error("{} is a partial run of format version {found}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A file that is not as it was written.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl Explain for PartialRunError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::File(error) => return error.remedy(),
            Self::Foreign(_) => "name files that a search of one shard wrote".into(),
            Self::Version { .. } => "search this shard again with this version of toller".into(),
            Self::Damaged { .. } => "copy the file again, or search this shard again".into(),
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::Foreign(path) | Self::Version { path, .. } | Self::Damaged { path, .. } => {
                Some(ErrorPlace::of_file(path))
            }
        }
    }
}

/// Why partial runs do not make a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A partial run.
    #[error(transparent)]
    Part(#[from] PartialRunError),
    /// The run.
    #[error(transparent)]
    Write(#[from] RunWriteError),
    /// Shares are missing.
    #[error("{} of {of} shards are missing: {}", missing.len(), listed(missing))]
    Missing {
        /// Their indices, from one.
        missing: Vec<u32>,
        /// The number of shares.
        of: u32,
    },
    /// A share that is there twice.
    #[error("{} and {} both hold shard {index}", first.display(), second.display())]
    Doubled {
        /// The file named first.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
        /// The share, from one.
        index: u32,
    },
    /// Shares of two different searches.
    #[error("{} and {} are of different searches: {what}", first.display(), second.display())]
    Foreign {
        /// The file named first.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
        /// In what they differ.
        what: String,
    },
    /// The merge was stopped.
    #[error("the merge was stopped")]
    Stopped,
}

impl Explain for MergeError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Part(error) => return error.remedy(),
            Self::Write(error) => return error.remedy(),
            Self::Missing { .. } => "search the missing shards, and name the files of all shards".into(),
            Self::Doubled { .. } => "name each shard once".into(),
            Self::Foreign { .. } => {
                "search every shard with the same stores, queries, model, filters and k, and on the same kind of device".into()
            }
            Self::Stopped => return None,
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Part(error) => error.place(),
            Self::Write(error) => error.place(),
            Self::Doubled { second, .. } | Self::Foreign { second, .. } => Some(ErrorPlace::of_file(second)),
            _ => None,
        }
    }
}

/// The first numbers of a list.
fn listed(numbers: &[u32]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = numbers.iter().take(SHOWN).map(u32::to_string).collect();
    let rest = if numbers.len() > SHOWN { ", ..." } else { "" };
    shown.join(", ") + rest
}
