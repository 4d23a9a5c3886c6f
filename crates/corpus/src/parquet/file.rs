//! A Parquet file that is open. What is wrong in it is an error with its name.

use parquet::errors::ParquetError;
use parquet::file::reader::SerializedFileReader;
use toller_files::{Compression, FileError, InputReader, WatchedFile};
use toller_ir::Position;

use crate::error::{CorpusError, Place};
use crate::parquet::{BROTLI, ParquetSource, guard};

/// A Parquet file of passages, queries, judgments or hits.
pub(crate) struct ParquetFile {
    name: String,
    watched: Option<WatchedFile>,
    pub(crate) reader: SerializedFileReader<ParquetSource>,
}

impl ParquetFile {
    /// Opens the file that `reader` reads: Parquet begins with its end, so a stream will not do.
    pub(crate) fn open(reader: &InputReader) -> Result<Self, CorpusError> {
        let name = reader.input().to_string();
        let unsupported = |reason, remedy: &'static str| CorpusError::Unsupported {
            file: name.clone(),
            reason,
            remedy: remedy.into(),
        };
        if reader.compression() != Compression::Plain {
            return Err(unsupported(
                "a compressed Parquet file",
                "decompress it first; Parquet compresses inside",
            ));
        }
        let Some(source) = ParquetSource::open(reader)? else {
            return Err(unsupported("Parquet cannot be read from a stream", "save it as a file first"));
        };
        let watched = reader.file().cloned();
        let reader = guarded(&name, watched.as_ref(), || SerializedFileReader::new(source))?;
        Ok(Self { name, watched, reader })
    }

    /// Runs a call into the parquet crate.
    pub(crate) fn guard<T>(&self, call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, CorpusError> {
        guarded(&self.name, self.watched.as_ref(), call)
    }

    /// What messages call the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The place of a row, counted from one.
    pub(crate) fn place(&self, row: u64) -> Place {
        Place { file: self.name.clone(), position: Position::Row(row) }
    }
}

/// Runs a call into the parquet crate; what goes wrong is the fault of `file`, or of who has changed it.
fn guarded<T>(
    file: &str,
    watched: Option<&WatchedFile>,
    call: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, CorpusError> {
    guard(call).map_err(|error| match watched.map(WatchedFile::check) {
        Some(Err(changed)) => FileError::new("read", file, changed).into(),
        _ if error.0 == BROTLI => CorpusError::Unsupported {
            file: file.to_owned(),
            reason: BROTLI,
            remedy: "write it again with another compression, as in pandas: \
                     df.to_parquet(\"new.parquet\", compression=\"zstd\")"
                .into(),
        },
        _ => CorpusError::Broken {
            file: file.to_owned(),
            format: "parquet",
            message: error.to_string(),
            position: None,
        },
    })
}
