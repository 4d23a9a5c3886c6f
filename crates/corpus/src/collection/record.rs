//! One record of a collection, read again by its place.

use toller_ir::Passage;

use crate::collection::json;
use crate::collection::source::RecordLayout;

impl RecordLayout {
    /// The passage of a record's bytes (`RecordPlace::bytes`); `None` if they are not a record of this
    /// layout, which means that the file has changed.
    #[must_use]
    pub fn passage(&self, record: &[u8]) -> Option<Passage> {
        let record = std::str::from_utf8(record).ok()?;
        match self {
            Self::Jsonl => json::parse(record).ok(),
            Self::Tsv(columns) => columns.passage_of_line(record),
            // The lines of a row are read without their carriage returns.
            Self::Dpr(columns) if record.contains("\r\n") => {
                columns.passage_of_quoted(&record.replace("\r\n", "\n"))
            }
            Self::Dpr(columns) => columns.passage_of_quoted(record),
        }
    }
}
