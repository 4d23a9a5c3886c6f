//! What the reader of a collection asks of the reader of one file.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use toller_ir::Passage;

use crate::collection::columns::Columns;
use crate::error::{CorpusError, Position};

/// One file of passages.
pub(crate) trait PassageSource {
    /// The next passage, its identifier not yet checked; `None` at the end of the file. After a bad record
    /// the next call goes on behind it.
    fn next(&mut self) -> Result<Option<Passage>, CorpusError>;

    /// Where the passage that was returned last begins.
    fn position(&self) -> Position;

    /// The rows so far, good and bad: what the numbering of the next file's rows goes on from.
    fn rows(&self) -> u64;

    /// Where the record of the passage that was returned last is in the decompressed file, and how it is read there
    /// alone; `None` if it cannot be.
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

/// How a record is read without those before it: the format, and what the first line of the file said of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordLayout {
    /// A JSON object.
    Jsonl,
    /// Tab-separated columns.
    Tsv(Columns),
    /// Tab-separated columns that may be quoted.
    Dpr(Columns),
}
