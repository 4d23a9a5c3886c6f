//! Collections as JSON lines.

use toller_files::InputReader;
use toller_ir::{Passage, Position};

use crate::ColumnNames;
use crate::collection::source::{PassageSource, RecordLayout, RecordPlace};
use crate::error::{BadKind, CorpusError, Wrong, excerpt};
use crate::names::{Names, Usual, either};
use crate::text::{Object, RecordLines};

/// The names of the fields of a passage.
const FIELDS: Usual =
    Usual { id: &["_id", "id", "docid"], title: &["title"], text: &["text", "contents", "document_text"] };

/// Reads one JSON object a line.
pub(crate) struct JsonlPassages {
    records: RecordLines,
    names: Names,
    /// Whether an object had a field of titles, even an empty one.
    has_titles: bool,
}

impl JsonlPassages {
    pub(crate) fn new(reader: InputReader, max_line_bytes: usize, columns: &ColumnNames) -> Self {
        Self {
            records: RecordLines::json(reader, max_line_bytes),
            names: columns.or(FIELDS),
            has_titles: false,
        }
    }
}

impl PassageSource for JsonlPassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        if !self.records.advance()? {
            return Ok(None);
        }
        let (passage, has_title) = passage(self.records.text(), &self.names)
            .map_err(|wrong| wrong.at(self.records.lines().place()))?;
        self.has_titles |= has_title;
        Ok(Some(passage))
    }

    fn has_titles(&self) -> bool {
        self.has_titles
    }

    fn position(&self) -> Position {
        Position::Line(self.records.lines().line())
    }

    fn rows(&self) -> u64 {
        self.records.rows()
    }

    fn record(&self) -> Option<RecordPlace> {
        // A layout says nothing of names.
        (!self.names.are_given)
            .then(|| RecordPlace { layout: RecordLayout::Jsonl, bytes: self.records.lines().span() })
    }
}

/// The passage of a line whose fields have the usual names.
pub(crate) fn parse(line: &str) -> Result<Passage, Wrong> {
    Ok(passage(line, &ColumnNames::default().or(FIELDS))?.0)
}

/// The passage of a line, and whether it has a field of titles, even an empty one.
fn passage(line: &str, names: &Names) -> Result<(Passage, bool), Wrong> {
    let expected = || format!("a JSON object with {}, and {}", either(&names.id), either(&names.text));
    let mut fields = Object::parse(line, "a JSON object with an identifier and a text")?;
    let missing = |what: &str| {
        let found = format!("no {what} in {}", excerpt(line.as_bytes()));
        Wrong::new(BadKind::MissingField, found, expected())
    };
    // First: a field with one of the usual names may be a context, which a user names.
    let context = fields.take(&names.context)?.map(|context| context.into_text("context")).transpose()?;
    let id = fields.take(&names.id)?.ok_or_else(|| missing("identifier"))?.id("identifier")?;
    let title = fields.take(&names.title)?.map(|title| title.into_text("title")).transpose()?;
    let has_title = title.is_some();
    let title = title.filter(|title| !title.is_empty());
    let text = fields.take(&names.text)?.ok_or_else(|| missing("text"))?.into_text("text")?;
    Ok((Passage { id, title, text, context }, has_title))
}
