//! The formats that are written, by name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A format that a store is exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExportFormat {
    /// A NumPy array, and the ids beside it.
    Npy,
    /// Parquet with the columns `id` and `embedding`.
    Parquet,
    /// FAISS's `IndexFlatIP`, and the ids beside it.
    Faiss,
    /// FAISS's `IndexIDMap` of an `IndexFlatIP`, for ids that are integers.
    FaissIdMap,
    /// A directory with an `IndexFlatIP` called `index` and the ids, called `docid`.
    Pyserini,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Npy, Self::Parquet, Self::Faiss, Self::FaissIdMap, Self::Pyserini];

    /// The name, as the command line spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Parquet => "parquet",
            Self::Faiss => "faiss",
            Self::FaissIdMap => "faiss-idmap",
            Self::Pyserini => "pyserini",
        }
    }

    /// The format that a file's name stands for.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "npy" => Some(Self::Npy),
            "parquet" => Some(Self::Parquet),
            "faiss" | "index" => Some(Self::Faiss),
            _ => None,
        }
    }

    /// The file of the vectors, and that of the ids, if they need one, for an output of this name.
    pub(super) fn files(self, output: &Path) -> (PathBuf, Option<PathBuf>) {
        match self {
            Self::Npy | Self::Faiss => (output.to_owned(), Some(output.with_extension("ids.txt"))),
            Self::Parquet | Self::FaissIdMap => (output.to_owned(), None),
            Self::Pyserini => (output.join("index"), Some(output.join("docid"))),
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is not the name of a format that is written.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a format to export to: expected npy, parquet, faiss, faiss-idmap or pyserini")]
pub struct UnknownExportFormat(String);

impl FromStr for ExportFormat {
    type Err = UnknownExportFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|format| format.name() == text);
        named.ok_or_else(|| UnknownExportFormat(text.to_owned()))
    }
}
