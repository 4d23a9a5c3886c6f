//! One record of a collection, read again by its place.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use toller_ir::Passage;

use crate::collection::jsonl;
use crate::collection::tsv::Columns;

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

impl RecordLayout {
    /// The passage of a record's bytes ([`RecordPlace::bytes`]); `None` if they are no record of this layout, so that the
    /// file is not what it was.
    #[must_use]
    pub fn passage(&self, record: &[u8]) -> Option<Passage> {
        let record = std::str::from_utf8(record).ok()?;
        match self {
            Self::Jsonl => jsonl::parse(record).ok(),
            Self::Tsv(columns) => columns.passage_of_line(record),
            // The lines of a row are read without their carriage returns.
            Self::Dpr(columns) if record.contains("\r\n") => {
                columns.passage_of_quoted(&record.replace("\r\n", "\n"))
            }
            Self::Dpr(columns) => columns.passage_of_quoted(record),
        }
    }
}
