//! What can go wrong with texts by identifier, and the remedy.

use std::path::PathBuf;

use toller_corpus::CorpusError;
use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, remedy};

use crate::manifest::FORMAT_VERSION;

/// An error of opening or reading texts by identifier.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextsError {
    /// The system refused an operation on a file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The index can be written nowhere: not in the cache, not next to the collection, and for this reason
    /// not in the temporary directory.
    #[error("{0}")]
    NoPlace(FileError),
    /// The collection, duplicate identifiers included.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A file of the collection changed after it was indexed.
    #[error("{file} changed while it was in use: its record of {id:?} is not where it was")]
    Changed {
        /// The file.
        file: String,
        /// The passage that was looked for.
        id: String,
    },
    /// The collection had a duplicate identifier when it was indexed, and has none now.
    #[error("the collection changed while it was indexed")]
    ChangedMeanwhile,
    /// A file of the index is not as it was written.
    #[error("the text index file {} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The index was written by another version of the program.
    #[error("the text index {} has format version {found}; this program reads version {FORMAT_VERSION}", path.display())]
    FormatVersion {
        /// The directory.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The directory to write to holds something else.
    #[error("{} is not empty and no text index: it holds {entry}", path.display())]
    DirectoryInUse {
        /// The directory.
        path: PathBuf,
        /// The name of an entry that does not belong there.
        entry: String,
    },
    /// More files than a text index can name.
    #[error("the collection has {files} files; a text index has room for {most}")]
    TooManyFiles {
        /// How many there are.
        files: usize,
        /// How many there may be.
        most: usize,
    },
}

impl Explain for TextsError {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File(error) => error.remedy(),
            Self::NoPlace(_) => Some(remedy!(
                "the text index needs a disk with room: name a directory with {}, or set TOLLER_CACHE to \
                 another folder",
                Setting::TextIndex
            )),
            Self::Corpus(error) => error.remedy(),
            Self::Changed { .. } | Self::ChangedMeanwhile => {
                Some("run the same command again, and leave the file as it is meanwhile".into())
            }
            Self::Damaged { path, .. } => {
                let directory = path.parent().unwrap_or(path);
                Some(format!("remove {}; it is made again", directory.display()).into())
            }
            Self::FormatVersion { .. } | Self::DirectoryInUse { .. } => {
                Some(remedy!("name another directory with {}", Setting::TextIndex))
            }
            Self::TooManyFiles { .. } => Some("join some of the files".into()),
        }
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) | Self::NoPlace(error) => error.place(),
            Self::Corpus(error) => error.place(),
            Self::Changed { file, .. } => Some(ErrorPlace { file: file.clone(), position: None }),
            Self::Damaged { path, .. }
            | Self::FormatVersion { path, .. }
            | Self::DirectoryInUse { path, .. } => Some(ErrorPlace::of_file(path)),
            Self::ChangedMeanwhile | Self::TooManyFiles { .. } => None,
        }
    }
}
