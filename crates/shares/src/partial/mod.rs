//! Partial runs: the hits of one share of a search, with what a merge needs to give the bits of one machine.
//! docs/formats.md specifies the file.

mod reader;
mod writer;

use std::io::{BufRead, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use toller_corpus::PARTIAL_RUN;
use toller_files::{Checksum, Input, InputReader};
use toller_ir::Hit;

pub use self::reader::PartialRunReader;
pub use self::writer::PartialRunWriter;

/// The one version that is written and read.
const VERSION: u64 = 1;

/// More bytes than any header has.
const LONGEST_HEADER: u64 = 4096;

/// The first line of a partial run: which share of which search it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Which share, counted from one.
    pub index: u32,
    /// The number of shares.
    pub of: u32,
    /// The hits of a query, at most.
    pub k: u64,
    /// The number of queries.
    pub queries: u64,
    /// The documents of all shares.
    pub documents: u64,
    /// Identifies the stores that were searched.
    pub stores: Checksum,
}

/// The header as it is in the file.
#[derive(Serialize, Deserialize)]
struct Line<H> {
    format: String,
    format_version: u64,
    #[serde(flatten)]
    header: H,
}

/// The hits of one query in one share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The query's identifier.
    pub query: String,
    /// Identifies what was searched for: the query's vector, and the documents that were left out.
    pub identity: [u8; 16],
    /// The hits in their order, with ordinals of the whole collection.
    pub hits: Vec<Hit>,
    /// The documents' identifiers, one after the other.
    pub ids: String,
    /// Where each identifier ends in `ids`.
    pub ends: Vec<usize>,
}

impl Record {
    /// The identifier of the hit at a place.
    #[must_use]
    pub fn id(&self, place: usize) -> &str {
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(place).and_then(|&end| self.ids.get(start..end)).unwrap_or_default()
    }
}

impl Header {
    /// What must be equal in all shares, as name and value.
    pub(crate) fn common(&self) -> [(&'static str, String); 5] {
        let Self { index: _, of, k, queries, documents, stores } = self;
        [
            ("the number of shards", of.to_string()),
            ("k", k.to_string()),
            ("the number of queries", queries.to_string()),
            ("the number of documents", documents.to_string()),
            ("the stores", stores.to_string()),
        ]
    }
}

/// Whether a file begins as a partial run.
#[must_use]
pub fn is_partial_run(path: &Path) -> bool {
    let Ok(reader) = InputReader::open(&Input::File(path.to_owned())) else { return false };
    let mut line = Vec::new();
    let read = reader.take(LONGEST_HEADER).read_until(b'\n', &mut line);
    let found = serde_json::from_slice::<Line<serde::de::IgnoredAny>>(&line);
    read.is_ok() && found.is_ok_and(|found| found.format == PARTIAL_RUN)
}
