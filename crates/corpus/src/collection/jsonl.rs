//! Collections as JSON lines.

use toller_files::InputReader;
use toller_ir::Passage;

use crate::collection::source::{PassageSource, RecordLayout, RecordPlace};
use crate::error::{BadKind, CorpusError, Position, Wrong, excerpt};
use crate::text::{FieldNames, Fields, Loose, RecordLines};

/// The fields of a passage, in the order of [`ID`], [`TITLE`], [`TEXT`]; if several names for one field
/// occur, the first counts.
struct PassageFields;

const ID: std::ops::Range<usize> = 0..3;
const TITLE: std::ops::Range<usize> = 3..4;
const TEXT: std::ops::Range<usize> = 4..7;

impl FieldNames<7> for PassageFields {
    const NAMES: [&'static str; 7] = ["_id", "id", "docid", "title", "text", "contents", "document_text"];
}

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
        let parsed = match self.records.lines_mut().next()? {
            Some(line) => parse(line),
            None => return Ok(None),
        };
        parsed.map(Some).map_err(|wrong| wrong.at(self.records.lines().place()))
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
    let mut fields: Fields<'_, PassageFields, 7> = serde_json::from_str(line).map_err(|error| {
        Wrong::new(BadKind::Malformed, format!("{} ({error})", excerpt(line.as_bytes())), EXPECTED)
    })?;
    if let Some(name) = fields.twice {
        return Err(Wrong::new(BadKind::Malformed, format!("the field {name} twice"), "each field once"));
    }
    let Some(id) = fields.first_of(ID) else {
        let found = format!("no identifier in {}", excerpt(line.as_bytes()));
        return Err(Wrong::new(BadKind::MissingField, found, EXPECTED));
    };
    let Some(id) = id.to_id() else {
        let found = format!("{} as the identifier", id.describe());
        return Err(Wrong::new(BadKind::Malformed, found, "a string or an integer"));
    };
    let title = match fields.take_first_of(TITLE) {
        None => None,
        Some(Loose::String(title)) => Some(title.into_owned()).filter(|title| !title.is_empty()),
        Some(other) => {
            let found = format!("{} as the title", other.describe());
            return Err(Wrong::new(BadKind::Malformed, found, "a string"));
        }
    };
    let text = match fields.take_first_of(TEXT) {
        Some(Loose::String(text)) => text.into_owned(),
        Some(other) => {
            let found = format!("{} as the text", other.describe());
            return Err(Wrong::new(BadKind::Malformed, found, "a string"));
        }
        None => {
            let found = format!("no text in {}", excerpt(line.as_bytes()));
            return Err(Wrong::new(BadKind::MissingField, found, EXPECTED));
        }
    };
    Ok(Passage { id, title, text })
}
