//! Collections as TREC documents.

use toller_files::InputReader;
use toller_ir::{Passage, Position};

use crate::collection::source::PassageSource;
use crate::error::{BadKind, CorpusError, excerpt};
use crate::text::{ElementReader, LineReader, collapse, field_text, plain_text, text_outside};

/// The names of a title's element, in the order in which they count.
const TITLE: &[&str] = &["title", "headline"];

/// The elements that are not text. In a document without `<text>`, everything else is its text. (`<dochdr>`
/// holds the answer of the web server that precedes the page.)
const NOT_TEXT: &[&str] = &["docno", "dochdr", "title", "headline"];

/// Reads `<doc>` elements, whatever the case of their tags.
pub(crate) struct TrecPassages {
    elements: ElementReader,
    line: u64,
}

impl TrecPassages {
    pub(crate) fn new(reader: InputReader, max_bytes: usize) -> Self {
        let elements = ElementReader::new(LineReader::new(reader, max_bytes), &["doc"], max_bytes);
        Self { elements, line: 0 }
    }
}

impl PassageSource for TrecPassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        let Some(document) = self.elements.next()? else { return Ok(None) };
        self.line = document.line;
        let missing = |name: &str| {
            let found = excerpt(document.body.trim().as_bytes());
            let found = format!("no <{name}> in {found}");
            let expected = "a document with <docno> and a text";
            self.elements.lines().bad_at(document.line, BadKind::MissingField, found, expected)
        };
        let id = field_text(&document.body, &["docno"]).ok_or_else(|| missing("docno"))?;
        let title = field_text(&document.body, TITLE).map(|title| collapse(&plain_text(&title)));
        let title = title.filter(|title| !title.is_empty());
        let text = match field_text(&document.body, &["text"]) {
            Some(text) => plain_text(&text).trim().to_owned(),
            None => Some(text_outside(&document.body, NOT_TEXT))
                .filter(|text| !text.is_empty() || title.is_some())
                .ok_or_else(|| missing("text"))?,
        };
        Ok(Some(Passage { id: collapse(&plain_text(&id)), title, text, context: None }))
    }

    fn position(&self) -> Position {
        Position::Line(self.line)
    }

    fn rows(&self) -> u64 {
        self.line
    }
}
