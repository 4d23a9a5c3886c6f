//! The reader of one file of a collection.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use toller_ir::{Passage, Position, Setting};

use crate::collection::columns::Columns;
use crate::error::CorpusError;

/// One file of passages.
pub(crate) trait PassageSource {
    /// The next passage, its identifier not yet checked; `None` at the end of the file. After a bad record
    /// the next call continues with the following one.
    fn next(&mut self) -> Result<Option<Passage>, CorpusError>;

    /// Where the passage that was returned last begins.
    fn position(&self) -> Position;

    /// The rows so far, good and bad, from which the numbering of the next file continues.
    fn rows(&self) -> u64;

    /// The names that a user gave and that no passage so far had, not even with an empty value, and what gave
    /// them. Only a format without a header can find out no sooner.
    fn unseen(&self) -> Vec<(Setting, &str)> {
        Vec::new()
    }

    /// Whether a passage so far had a vector of terms and weights that was not read.
    fn has_vectors(&self) -> bool {
        false
    }

    /// Where the record of the last returned passage is in the decompressed file, and how to read it by
    /// itself; `None` if that is impossible.
    fn record(&self) -> Option<RecordPlace> {
        None
    }
}

/// Where a record is in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// How it is read; the same for all records of a file.
    pub layout: RecordLayout,
    /// Its bytes, without the end of its last line.
    pub bytes: Range<u64>,
}

/// How a record is read without the records before it: the format, and the columns that the first line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordLayout {
    /// A JSON object, on any number of lines.
    Jsonl,
    /// Tab-separated columns.
    Tsv(Columns),
    /// Tab-separated columns that may be quoted.
    Dpr(Columns),
}
