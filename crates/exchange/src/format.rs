//! The formats, by name and by first bytes.

use std::io::Read;
use std::path::Path;

use toller_files::{FileError, Input, InputReader, open_regular};
use toller_ir::named;

use crate::ExchangeError;

named! {
    /// A format of vectors.
    pub enum VectorFormat: "a format of vectors" {
        /// FAISS's `IndexFlatIP`, or an `IndexIDMap` of it; or Pyserini's directory of `index` and `docid`.
        Faiss = "faiss",
        /// A NumPy array.
        Npy = "npy",
        /// Parquet with a column of ids and one of lists of floats.
        Parquet = "parquet",
        /// JSON lines with an id and a vector each, as Pyserini and Anserini write them.
        Jsonl = "jsonl",
        /// A pickle, as Tevatron and DPR write it.
        Pickle = "pickle",
        /// The float32 of Big ANN Benchmarks, DiskANN and cuVS: the extents and the rows.
        Fbin = "fbin",
        /// The float32 of TEXMEX (SIFT1M, GIST1M): each row after its length.
        Fvecs = "fvecs",
    }
}

impl VectorFormat {
    /// The format of an existing file, by its first bytes.
    pub(crate) fn detect(path: &Path) -> Result<Self, ExchangeError> {
        let mut head = Vec::new();
        let file = open_regular(path).map_err(FileError::on("open", path))?;
        file.take(9).read_to_end(&mut head).map_err(FileError::on("read", path))?;
        let unknown =
            |reason: &str| ExchangeError::UnknownFormat { path: path.to_owned(), reason: reason.to_owned() };
        // These begin with any bytes, so only their names tell.
        if let (false, Some(format @ (Self::Fbin | Self::Fvecs))) = (head.is_empty(), Self::of_name(path)) {
            return Ok(format);
        }
        match head.as_slice() {
            [] => Err(ExchangeError::Empty(path.to_owned())),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Ok(Self::Npy),
            [b'P', b'A', b'R', b'1', ..] => Ok(Self::Parquet),
            // FAISS's four letters: Ix.. for most indexes, Iw.. and IH.. for inverted files and graphs.
            [b'I', b'x' | b'w' | b'H' | b'N' | b'B', _, _, ..] => Ok(Self::Faiss),
            // Protocol 2 and later begin with their number; the others begin like any text.
            [0x80, 2..=5, ..] => Ok(Self::Pickle),
            _ if Self::of_name(path) == Some(Self::Pickle) => Ok(Self::Pickle),
            // The length of a JSON object, and the object.
            [_, _, _, _, _, _, 0, 0, b'{'] => Err(ExchangeError::Unsupported {
                path: path.to_owned(),
                what: "a safetensors file, which holds no identifiers".to_owned(),
                remedy: "save its matrix with `numpy.save`; a store of Toller is used as it is, without an \
                         import"
                    .into(),
            }),
            _ if holds_objects(path) => Ok(Self::Jsonl),
            [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0xfd, b'7', b'z', b'X', ..] => {
                Err(ExchangeError::Unsupported {
                    path: path.to_owned(),
                    what: "a compressed file, and not of JSON lines".to_owned(),
                    remedy: "decompress it first".into(),
                })
            }
            [0x89, b'H', b'D', b'F', ..] => Err(ExchangeError::Unsupported {
                path: path.to_owned(),
                what: "an HDF5 file".to_owned(),
                remedy: "save its array of vectors with `numpy.save`".into(),
            }),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Err(ExchangeError::Unsupported {
                path: path.to_owned(),
                what: "an Arrow file".to_owned(),
                remedy: "write its table as Parquet, with `pyarrow.parquet.write_table`".into(),
            }),
            [b'P', b'K', 3, 4, ..] => Err(ExchangeError::Unsupported {
                path: path.to_owned(),
                what: "a zip archive, as `numpy.savez` and `torch.save` write it".to_owned(),
                remedy: "save the array alone, with `numpy.save`".into(),
            }),
            _ => Err(unknown("it begins like none of FAISS, NumPy, Parquet, JSON lines and pickle")),
        }
    }

    /// The format for the extension of a file's name.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "faiss" | "index" => Some(Self::Faiss),
            "npy" => Some(Self::Npy),
            "parquet" => Some(Self::Parquet),
            "jsonl" => Some(Self::Jsonl),
            "pkl" | "pickle" => Some(Self::Pickle),
            "fbin" => Some(Self::Fbin),
            "fvecs" => Some(Self::Fvecs),
            _ => None,
        }
    }
}

/// Whether a file begins with a JSON object, also under a compression.
fn holds_objects(path: &Path) -> bool {
    let reader = InputReader::open(&Input::File(path.to_owned()));
    reader.is_ok_and(|mut reader| reader.peek(64).trim_ascii_start().starts_with(b"{"))
}
