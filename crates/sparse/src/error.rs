//! What can go wrong with an index, and the remedy.

use std::path::PathBuf;

use toller_files::FileError;
use toller_ir::{Command, ErrorPlace, Explain, ModelInfo, Remedy, Setting, remedy};

use crate::index::FORMAT_VERSION;

/// An error of building, opening or searching an index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// The system refused an operation on a file.
    #[error(transparent)]
    File(#[from] FileError),

    /// A path that was to be opened is not an index.
    #[error("{} is not an inverted index: it has no manifest.json of one", .0.display())]
    NotAnIndex(PathBuf),
    /// A directory that was to be opened has files of another format.
    #[error("{} is not an inverted index: its manifest.json says {format}", path.display())]
    OtherFormat {
        /// The directory.
        path: PathBuf,
        /// The name of the format.
        format: String,
    },
    /// The index was written by another version of the program.
    #[error("{} has format version {found}; this program reads version {FORMAT_VERSION}", path.display())]
    FormatVersion {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The manifest is not as it was written.
    #[error("{} is damaged: {reason}", path.display())]
    ManifestDamaged {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file of the index is missing or not as it was written.
    #[error("the index file {} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The index was made with an analyzer that makes other terms.
    #[error("the index {} was made with the analyzer {indexed}, not with {given}", path.display())]
    WrongAnalyzer {
        /// The index.
        path: PathBuf,
        /// The analyzer that made it, with its fingerprint.
        indexed: String,
        /// The one that was given.
        given: String,
    },
    /// Another model than that of the index is to give the terms of queries impacts.
    #[error(
        "the impacts of the index {} were made by another model: by {} (fingerprint {}), not by {} (fingerprint {})",
        path.display(), models[0], models[0].fingerprint, models[1], models[1].fingerprint
    )]
    WrongModel {
        /// The index.
        path: PathBuf,
        /// The index's model, and the one that was given.
        models: Box<[ModelInfo; 2]>,
    },
    /// The index has no document vectors.
    #[error("the index {} has no document vectors", path.display())]
    NoVectors {
        /// The index.
        path: PathBuf,
    },

    /// The index holds impacts, and was to be used as an index of texts.
    #[error("the index {} holds impacts, and {refused}", path.display())]
    HoldsImpacts {
        /// The index.
        path: PathBuf,
        /// What impacts are not for.
        refused: &'static str,
    },
    /// The index holds no impacts, which a model makes.
    #[error("the index {} holds no impacts, so that no model reads its queries", path.display())]
    NotOfModel {
        /// The index.
        path: PathBuf,
    },
    /// The index holds no impacts.
    #[error("the index {} holds no impacts, which the ranker impact adds up", path.display())]
    NoImpacts {
        /// The index.
        path: PathBuf,
    },

    /// The directory to write to holds something else.
    #[error("{} is not empty and not an inverted index: it holds {entry}", path.display())]
    DirectoryInUse {
        /// The directory.
        path: PathBuf,
        /// The name of an entry that does not belong there.
        entry: String,
    },
    /// Another process is writing this index.
    #[error("another process is writing the index {}", .0.display())]
    Locked(PathBuf),
    /// There is an index already, of something else.
    #[error("the index {} is of something else: {difference}", path.display())]
    Exists {
        /// The index.
        path: PathBuf,
        /// In what it differs from what was asked for.
        difference: String,
    },
    /// More documents than ordinals.
    #[error("the collection has more documents than the {} that can be numbered", u32::MAX)]
    TooManyDocuments,
    /// A document that is too long.
    #[error("the document {0:?} has more than {max} terms", max = i32::MAX)]
    DocumentTooLong(String),
    /// A thread that analyzes texts has panicked.
    #[error("a thread that analyzes texts has panicked")]
    WorkerPanicked,
    /// The building was stopped from outside; nothing is left of it.
    #[error("the index was not finished")]
    Interrupted,

    /// A parameter of a ranker that is out of its range.
    #[error("{name} is {value}, which is not {range}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f32,
        /// What it may be.
        range: &'static str,
    },
    /// A weight that a query's term cannot have.
    #[error("the weight of the term {term:?} is {weight}, which is not a number from 0 to 1e20")]
    Weight {
        /// The term.
        term: String,
        /// Its weight.
        weight: f32,
    },
}

impl Explain for SparseError {
    fn remedy(&self) -> Option<Remedy> {
        let overwrite = Command::Index.with(Setting::Overwrite);
        Some(match self {
            Self::File(error) => return error.remedy(),
            Self::OtherFormat { format, .. } if format == "toller-store" => {
                remedy!("give a store of vectors as {}, an index as {}", Setting::Dense, Setting::Sparse)
            }
            Self::NotAnIndex { .. } | Self::OtherFormat { .. } => remedy!(
                "give the directory that `{}` wrote; if that was interrupted, run it again; if it is replacing \
                 the index now, try again in a moment",
                Command::Index.with(Setting::Output)
            ),
            Self::FormatVersion { found, .. } if *found > FORMAT_VERSION => "update toller".into(),
            Self::FormatVersion { .. } => remedy!("build the index again with `{}`", overwrite),
            Self::ManifestDamaged { .. } | Self::Damaged { .. } => {
                remedy!("restore the file from a copy, or build the index again with `{}`", overwrite)
            }
            Self::WrongAnalyzer { .. } => {
                remedy!(
                    "name the index's own with {}, or build it again with `{}`",
                    Setting::Analyzer,
                    overwrite
                )
            }
            Self::WrongModel { .. } => {
                remedy!("name the index's own with {}, or leave it out", Setting::SparseModel)
            }
            Self::NoVectors { .. } => remedy!(
                "build the index with `{}` (`{}` replaces the one that is there)",
                Command::Index.with(Setting::DocVectors),
                Setting::Overwrite
            ),
            Self::HoldsImpacts { .. } => {
                remedy!("search it with {}, without feedback and exact lengths", Setting::Ranker.to("impact"))
            }
            Self::NotOfModel { .. } => remedy!("leave {} out", Setting::SparseModel),
            Self::NoImpacts { .. } => remedy!(
                "name another ranker with {}, or build an index of impacts with `{}` or `{}`",
                Setting::Ranker,
                Command::Index.with(Setting::Impact),
                Command::Index.with(Setting::Vectors)
            ),
            Self::DirectoryInUse { .. } => {
                remedy!("give another {}; nothing was changed", Setting::Output)
            }
            Self::Locked { .. } => remedy!("wait until it has ended, or give another {}", Setting::Output),
            Self::Exists { .. } => remedy!(
                "give another {}, or replace the index with `{}`",
                Setting::Output,
                Setting::Overwrite
            ),
            Self::TooManyDocuments => "divide the collection into several indexes".into(),
            Self::DocumentTooLong { .. } => "divide the document into passages".into(),
            Self::Interrupted => "run the same command again".into(),
            Self::WorkerPanicked | Self::Parameter { .. } | Self::Weight { .. } => return None,
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::NotAnIndex(path)
            | Self::OtherFormat { path, .. }
            | Self::Locked(path)
            | Self::FormatVersion { path, .. }
            | Self::ManifestDamaged { path, .. }
            | Self::Damaged { path, .. }
            | Self::WrongAnalyzer { path, .. }
            | Self::WrongModel { path, .. }
            | Self::NoVectors { path, .. }
            | Self::HoldsImpacts { path, .. }
            | Self::NoImpacts { path }
            | Self::NotOfModel { path }
            | Self::DirectoryInUse { path, .. }
            | Self::Exists { path, .. } => Some(ErrorPlace::of_file(path)),
            _ => None,
        }
    }
}
