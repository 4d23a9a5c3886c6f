//! The formats that are written, by name.

use std::path::{Path, PathBuf};

use toller_files::Compression;
use toller_ir::named;
use toller_store::Content;

use crate::ExchangeError;

named! {
    /// A format that a store is exported to.
    pub enum ExportFormat: "a format to export to" {
        /// A NumPy array, and the ids in a file next to it.
        Npy = "npy",
        /// Parquet with the columns `id` and `embedding`.
        Parquet = "parquet",
        /// FAISS's `IndexFlatIP`, and the ids in a file next to it.
        Faiss = "faiss",
        /// FAISS's `IndexIDMap` of an `IndexFlatIP`, for ids that are integers.
        FaissIdMap = "faiss-idmap",
        /// A directory with an `IndexFlatIP` called `index` and the ids, called `docid`.
        Pyserini = "pyserini",
        /// JSON lines of impacts, as Pyserini's `JsonVectorCollection` has them.
        Jsonl = "jsonl",
    }
}

impl ExportFormat {
    /// The formats of stores that hold this.
    pub fn holding(content: Content) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |format| format.holds(content))
    }

    /// Refuses a store that holds something else than the format.
    ///
    /// # Errors
    /// [`ExchangeError::OtherContent`].
    pub fn check(self, content: Content) -> Result<(), ExchangeError> {
        if self.holds(content) {
            return Ok(());
        }
        Err(ExchangeError::OtherContent { format: self, content })
    }

    fn holds(self, content: Content) -> bool {
        (self == Self::Jsonl) == (content == Content::Impacts)
    }

    /// The format for the extension of a file's name.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "npy" => Some(Self::Npy),
            "parquet" => Some(Self::Parquet),
            "faiss" | "index" => Some(Self::Faiss),
            "jsonl" => Some(Self::Jsonl),
            // Only JSON lines are compressed.
            ending if Compression::ALL.into_iter().any(|one| one.ending() == Some(ending)) => {
                Self::of_name(Path::new(path.file_stem()?)).filter(|format| *format == Self::Jsonl)
            }
            _ => None,
        }
    }

    /// The files of vectors that would have the same file of ids as `vectors`.
    pub(super) fn sharing_ids(vectors: &Path) -> impl Iterator<Item = PathBuf> {
        ["npy", "faiss", "index"].into_iter().map(|extension| vectors.with_extension(extension))
    }

    /// The file of the vectors, and that of the ids if the format needs one, for an output of this name.
    pub(super) fn files(self, output: &Path) -> (PathBuf, Option<PathBuf>) {
        match self {
            Self::Npy | Self::Faiss => (output.to_owned(), Some(output.with_extension("ids.txt"))),
            Self::Parquet | Self::FaissIdMap | Self::Jsonl => (output.to_owned(), None),
            Self::Pyserini => (output.join("index"), Some(output.join("docid"))),
        }
    }
}
