//! Collections as TREC documents.

use toller_files::InputReader;
use toller_ir::{Passage, Position, Setting};

use crate::ColumnNames;
use crate::collection::source::PassageSource;
use crate::error::{BadKind, CorpusError, excerpt};
use crate::text::{
    ElementReader, GivenElements, LineReader, collapse, elements, field_text, joined, plain_text,
    text_outside,
};

/// The names of a title's element.
const TITLE: &[&str] = &["title", "headline"];

/// The elements that are not text. In a document without `<text>`, everything else is its text. (`<dochdr>`
/// holds the answer of the web server that precedes the page.)
const NOT_TEXT: &[&str] = &["docno", "dochdr", "title", "headline"];

/// The elements of titles, and those of texts, in a document with `<text>`: all that Anserini indexes of the
/// newswire on TREC's disks. A `<head>` around a `<title>` is a page's.
const NEWS_TITLE: &[&str] = &["title", "headline", "hl", "head", "ttl"];
const NEWS_TEXT: &[&str] = &["lp", "leadpara", "dd", "date"];

/// Reads `<doc>` elements, whatever the case of their tags.
pub(crate) struct TrecPassages {
    elements: ElementReader,
    id: String,
    /// The names that a user gave.
    title: Option<GivenElements>,
    text: Option<GivenElements>,
    line: u64,
}

impl TrecPassages {
    pub(crate) fn new(reader: InputReader, max_bytes: usize, columns: &ColumnNames) -> Self {
        let given = |setting, names: &Option<String>| Some(GivenElements::new(setting, names.as_ref()?));
        Self {
            elements: ElementReader::new(LineReader::new(reader, max_bytes), &["doc"], max_bytes),
            id: columns.id.clone().unwrap_or_else(|| "docno".to_owned()),
            title: given(Setting::TitleColumn, &columns.title),
            text: given(Setting::TextColumn, &columns.text),
            line: 0,
        }
    }

    /// The passage of a document, or the tag of what is missing.
    fn passage(&mut self, body: &str) -> Result<Passage, String> {
        let id = field_text(body, &[&self.id]).ok_or_else(|| format!("<{}>", self.id))?;
        let (title, text) = self.usual(body);
        let title = self.title.as_mut().map_or(title, |names| contents(names, body));
        let title = title.map(|title| collapse(&title)).filter(|title| !title.is_empty());
        let text = self.text.as_mut().map_or(text, |names| contents(names, body));
        let text = text.or_else(|| title.is_some().then(String::new));
        let missing = || self.text.as_ref().map_or_else(|| "<text>".to_owned(), GivenElements::tags);
        let text = text.ok_or_else(missing)?;
        Ok(Passage { id: collapse(&plain_text(&id)), title, text, context: None })
    }

    /// The title and the text in the elements that usually have them.
    fn usual(&self, body: &str) -> (Option<String>, Option<String>) {
        let is_free = |name: &str| self.text.as_ref().is_none_or(|given| !given.have(name));
        let of = |parts: &[(&str, &str)], is_one: &dyn Fn(&str) -> bool| {
            let contents = parts.iter().filter(|(name, _)| is_one(name)).map(|(_, content)| *content);
            joined(contents).map(|markup| plain_text(&markup).trim().to_owned())
        };
        // A title inside the text counts where there is no other.
        let title = || of(&elements(body, TITLE), &is_free);
        let parts = elements(body, &[&["text"], NEWS_TITLE, NEWS_TEXT].concat());
        if parts.iter().all(|(name, _)| *name != "text") {
            let text = text_outside(body, NOT_TEXT);
            return (title(), Some(text).filter(|text| !text.is_empty()));
        }
        let is_title = |name: &str| NEWS_TITLE.contains(&name);
        let news_title = of(&parts, &|name| is_title(name) && is_free(name));
        (news_title.or_else(title), of(&parts, &|name| !is_title(name)))
    }
}

/// The plain text of the elements that a user named; `None` if there are none.
fn contents(names: &mut GivenElements, body: &str) -> Option<String> {
    let found = names.of(body);
    let markup = joined(found.iter().map(|(_, content)| &**content))?;
    Some(plain_text(&markup).trim().to_owned())
}

impl PassageSource for TrecPassages {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        let Some(document) = self.elements.next()? else { return Ok(None) };
        self.line = document.line;
        self.passage(&document.body).map(Some).map_err(|missing| {
            let found = format!("no {missing} in {}", excerpt(document.body.trim().as_bytes()));
            let expected = format!("a document with <{}> and a text", self.id);
            self.elements.lines().bad_at(document.line, BadKind::MissingField, found, expected)
        })
    }

    fn unseen(&self) -> Vec<(Setting, &str)> {
        self.title.iter().chain(&self.text).flat_map(GivenElements::unseen).collect()
    }

    fn position(&self) -> Position {
        Position::Line(self.line)
    }

    fn rows(&self) -> u64 {
        self.line
    }
}
