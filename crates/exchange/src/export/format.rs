//! The formats that are written, by name.

use std::path::{Path, PathBuf};

use toller_ir::named;

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
    }
}

impl ExportFormat {
    /// The format for the extension of a file's name.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "npy" => Some(Self::Npy),
            "parquet" => Some(Self::Parquet),
            "faiss" | "index" => Some(Self::Faiss),
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
            Self::Parquet | Self::FaissIdMap => (output.to_owned(), None),
            Self::Pyserini => (output.join("index"), Some(output.join("docid"))),
        }
    }
}
