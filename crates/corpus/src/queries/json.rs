//! Queries as JSON: BEIR's and DuReader's lines, DPR's, EntityQuestions' array, and objects over any lines.

use toller_files::InputReader;
use toller_ir::Query;

use crate::ColumnNames;
use crate::error::{BadKind, CorpusError, Wrong};
use crate::names::{Names, Usual, either};
use crate::queries::lines::for_each_line;
use crate::queries::sink::QuerySink;
use crate::text::{Object, ObjectReader, RecordLines};

/// The names of the fields of a query.
pub(crate) const FIELDS: Usual = Usual {
    id: &["_id", "id", "qid", "query_id", "question_id"],
    title: &[],
    text: &["text", "query", "question"],
};
const ANSWERS: &[&str] = &["answers", "answer"];

const EXPECTED: &str = "a JSON object with text, query or question";

/// Reads one JSON object a line.
pub(crate) fn read_lines(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut records = Records { names: columns.or(FIELDS), with_ids: None };
    for_each_line(RecordLines::json(reader, max_bytes), sink, |line, row, sink| {
        records.query(Object::parse(line, EXPECTED)?, row, sink).map(Some)
    })
}

/// Reads objects over any lines, one after another or in one array.
pub(crate) fn read_objects(
    reader: InputReader,
    max_bytes: usize,
    columns: &ColumnNames,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut records = Records { names: columns.or(FIELDS), with_ids: None };
    let mut objects = ObjectReader::new(reader, max_bytes);
    loop {
        let query = match objects.advance() {
            Ok(false) => return Ok(()),
            Ok(true) => Object::parse(objects.text(), EXPECTED)
                .and_then(|fields| records.query(fields, objects.count() - 1, sink))
                .map_err(|wrong| wrong.at(objects.place())),
            Err(error) => Err(error),
        };
        sink.take(objects.place(), query)?;
    }
}

/// What the records of a file have in common.
struct Records {
    names: Names,
    /// Whether they have identifiers, as the first of them decides.
    with_ids: Option<bool>,
}

impl Records {
    fn query(&mut self, mut fields: Object<'_>, row: u64, sink: &QuerySink) -> Result<Query, Wrong> {
        let id = fields.take(&self.names.id)?;
        let with_ids = *self.with_ids.get_or_insert(id.is_some() || self.names.id_is_given);
        let id = match id {
            Some(id) if with_ids => id.id("identifier")?,
            None if !with_ids => sink.row_id(row),
            Some(id) => {
                let found = format!("the identifier {}", id.describe());
                return Err(Wrong::new(BadKind::ExtraColumn, found, "none, as in the file's first record"));
            }
            None => {
                let of_first = if self.names.id_is_given { "" } else { ", as in the file's first record" };
                let expected = format!("{}{of_first}", either(&self.names.id));
                return Err(Wrong::new(BadKind::MissingField, "no identifier".to_owned(), expected));
            }
        };
        let text = fields.take(&self.names.text)?.ok_or_else(|| self.no_text(&id))?;
        let answers = fields.take(ANSWERS)?.unwrap_or_default();
        let strings = answers.to_strings().ok_or_else(|| answers.wrong("answers", "a list of strings"))?;
        Ok(Query { id, text: text.into_text("text")?, answers: strings })
    }

    fn no_text(&self, id: &str) -> Wrong {
        let expected = format!("a JSON object with {}", either(&self.names.text));
        Wrong::new(BadKind::MissingField, format!("no text for query {id}"), expected)
    }
}
