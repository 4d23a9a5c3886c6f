//! Collections as JSON lines.

use toller_files::InputReader;
use toller_ir::Passage;

use crate::collection::source::{PassageSource, RecordLayout, RecordPlace};
use crate::error::{BadKind, CorpusError, Position, Wrong, excerpt};
use crate::text::{Object, RecordLines};

/// The names of the fields of a passage.
const ID: &[&str] = &["_id", "id", "docid"];
const TITLE: &[&str] = &["title"];
const TEXT: &[&str] = &["text", "contents", "document_text"];

/// Reads one JSON object a line.
pub(crate) struct JsonlPassages {
    records: RecordLines,
}

impl JsonlPassages {
    pub(crate) fn new(reader: InputReader, max_line_bytes: usize) -> Self {
        Self { records: RecordLines::json(reader, max_line_bytes) }
    }
}

impl PassageSource for JsonlPassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        if !self.records.advance()? {
            return Ok(None);
        }
        parse(self.records.text()).map(Some).map_err(|wrong| wrong.at(self.records.lines().place()))
    }

    fn position(&self) -> Position {
        Position::Line(self.records.lines().line())
    }

    fn rows(&self) -> u64 {
        self.records.rows()
    }

    fn record(&self) -> Option<RecordPlace> {
        Some(RecordPlace { layout: RecordLayout::Jsonl, bytes: self.records.lines().span() })
    }
}

/// The passage of a line.
pub(crate) fn parse(line: &str) -> Result<Passage, Wrong> {
    const EXPECTED: &str = "a JSON object with _id, id or docid, and text, contents or document_text";
    let mut fields = Object::parse(line, EXPECTED)?;
    let missing = |what: &str| {
        let found = format!("no {what} in {}", excerpt(line.as_bytes()));
        Wrong::new(BadKind::MissingField, found, EXPECTED)
    };
    let id = fields.take(ID)?.ok_or_else(|| missing("identifier"))?.id("identifier")?;
    let title = fields.take(TITLE)?.map(|title| title.into_text("title")).transpose()?;
    let title = title.filter(|title| !title.is_empty());
    let text = fields.take(TEXT)?.ok_or_else(|| missing("text"))?.into_text("text")?;
    Ok(Passage { id, title, text })
}
