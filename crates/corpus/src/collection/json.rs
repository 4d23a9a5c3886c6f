//! Collections as JSON: an object a line, or objects over several lines, also in an array.

use std::ops::Range;

use toller_files::InputReader;
use toller_ir::{Passage, Position, Setting};

use crate::ColumnNames;
use crate::collection::source::{PassageSource, RecordLayout, RecordPlace};
use crate::error::{BadKind, CorpusError, Place, Wrong, excerpt};
use crate::names::{Names, either};
use crate::text::{Loose, Object, ObjectReader, RecordLines, vector_text};

/// The objects of a file.
pub(crate) trait Objects {
    fn advance(&mut self) -> Result<bool, CorpusError>;
    fn text(&self) -> &str;
    fn place(&self) -> Place;
    fn span(&self) -> Range<u64>;
    fn rows(&self) -> u64;
}

/// Reads the objects of `jsonl` or `json`.
pub(crate) struct JsonPassages<O> {
    objects: O,
    names: Names,
    /// Whether an object had a field of titles, even an empty one.
    has_titles: bool,
    /// Whether an object had a vector of weights that is not read.
    has_vectors: bool,
}

impl<O: Objects> JsonPassages<O> {
    fn new(objects: O, columns: &ColumnNames) -> Self {
        Self { objects, names: columns.in_passages(), has_titles: false, has_vectors: false }
    }
}

impl JsonPassages<RecordLines> {
    /// One object a line.
    pub(crate) fn lines(reader: InputReader, max_line_bytes: usize, columns: &ColumnNames) -> Self {
        Self::new(RecordLines::json(reader, max_line_bytes), columns)
    }
}

impl JsonPassages<ObjectReader> {
    /// Objects over any lines.
    pub(crate) fn objects(reader: InputReader, max_bytes: usize, columns: &ColumnNames) -> Self {
        Self::new(ObjectReader::new(reader, max_bytes), columns)
    }
}

impl Objects for RecordLines {
    fn advance(&mut self) -> Result<bool, CorpusError> {
        self.advance()
    }

    fn text(&self) -> &str {
        self.text()
    }

    fn place(&self) -> Place {
        self.lines().place()
    }

    fn span(&self) -> Range<u64> {
        self.lines().span()
    }

    fn rows(&self) -> u64 {
        self.rows()
    }
}

impl Objects for ObjectReader {
    fn advance(&mut self) -> Result<bool, CorpusError> {
        self.advance()
    }

    fn text(&self) -> &str {
        self.text()
    }

    fn place(&self) -> Place {
        self.place()
    }

    fn span(&self) -> Range<u64> {
        self.span()
    }

    fn rows(&self) -> u64 {
        self.count()
    }
}

impl<O: Objects> PassageSource for JsonPassages<O> {
    fn next(&mut self) -> Result<Option<Passage>, CorpusError> {
        if !self.objects.advance()? {
            return Ok(None);
        }
        let Parsed { passage, has_title, has_vector } =
            passage(self.objects.text(), &self.names).map_err(|wrong| wrong.at(self.objects.place()))?;
        self.has_titles |= has_title;
        self.has_vectors |= has_vector;
        Ok(Some(passage))
    }

    fn has_vectors(&self) -> bool {
        self.has_vectors
    }

    fn unseen(&self) -> Vec<(Setting, &str)> {
        let is_unseen = self.names.title_is_given && !self.has_titles;
        let titles = self.names.title.iter().filter(|_| is_unseen);
        titles.map(|name| (Setting::TitleColumn, name.as_str())).collect()
    }

    fn position(&self) -> Position {
        self.objects.place().position
    }

    fn rows(&self) -> u64 {
        self.objects.rows()
    }

    fn record(&self) -> Option<RecordPlace> {
        // A layout says nothing of names.
        (!self.names.are_given && self.names.vector.is_none())
            .then(|| RecordPlace { layout: RecordLayout::Jsonl, bytes: self.objects.span() })
    }
}

/// The passage of an object whose fields have the usual names.
pub(crate) fn parse(object: &str) -> Result<Passage, Wrong> {
    Ok(passage(object, &ColumnNames::default().in_passages())?.passage)
}

/// A passage, and what its object has besides.
struct Parsed {
    passage: Passage,
    /// Whether there is a field of titles, even an empty one.
    has_title: bool,
    /// Whether there is a vector of weights that is not read.
    has_vector: bool,
}

fn passage(object: &str, names: &Names) -> Result<Parsed, Wrong> {
    let text = || names.vector.clone().unwrap_or_else(|| either(&names.text));
    let expected = || format!("a JSON object with {}, and {}", either(&names.id), text());
    let mut fields = Object::parse(object, "a JSON object with an identifier and a text")?;
    let missing = |what: &str| {
        let found = format!("no {what} in {}", excerpt(object.as_bytes()));
        Wrong::new(BadKind::MissingField, found, expected())
    };
    // First: a field with one of the usual names may be a context, which a user names.
    let context = fields.take(&names.context)?.map(|context| context.into_text("context")).transpose()?;
    let id = fields.take(&names.id)?.ok_or_else(|| missing("identifier"))?.id("identifier")?;
    if let Some(name) = &names.vector {
        let text = vector_text(object, name)?.ok_or_else(|| missing("vector"))?;
        let passage = Passage { id, text, ..Passage::default() };
        return Ok(Parsed { passage, has_title: false, has_vector: false });
    }
    let title = fields.take(&names.title)?.map(|title| title.into_text("title")).transpose()?;
    let has_title = title.is_some();
    let title = title.filter(|title| !title.is_empty());
    let text = fields.take(&names.text)?.ok_or_else(|| missing("text"))?.into_text("text")?;
    let is_vector = |(name, value): &(Loose<'_>, Loose<'_>)| {
        *value == Loose::Object && name.as_str() == Some(ColumnNames::VECTOR)
    };
    let has_vector = fields.entries().iter().any(is_vector);
    Ok(Parsed { passage: Passage { id, title, text, context }, has_title, has_vector })
}
