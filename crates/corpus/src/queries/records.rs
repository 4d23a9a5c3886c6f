//! Queries as records with named fields: the objects of JSON, the rows of Parquet.

use toller_ir::Query;

use crate::ColumnNames;
use crate::error::{BadKind, Wrong};
use crate::names::{Names, either};
use crate::queries::sink::QuerySink;
use crate::text::{Object, vector_text};

const ANSWERS: &[&str] = &["answers", "answer"];

/// What the records of a file have in common.
pub(super) struct Records {
    names: Names,
    /// Whether they have identifiers, as the first of them decides.
    with_ids: Option<bool>,
    /// The fields of the first record, if it has no identifier.
    without_id: Option<Vec<String>>,
}

impl Records {
    pub(super) fn new(columns: &ColumnNames) -> Self {
        Self { names: columns.in_queries(), with_ids: None, without_id: None }
    }

    /// The query of a record that is JSON. `row` counts from zero.
    pub(super) fn json_query(&mut self, record: &str, row: u64, sink: &QuerySink) -> Result<Query, Wrong> {
        let fields = Object::parse(record, "a JSON object with text, query or question")?;
        let vector = self.names.vector.as_deref().map(|name| vector_text(record, name)).transpose()?;
        self.query(fields, vector.flatten(), row, sink)
    }

    /// The query of a record. Its text is `vector`, if that is given.
    pub(super) fn query(
        &mut self,
        mut fields: Object<'_>,
        vector: Option<String>,
        row: u64,
        sink: &QuerySink,
    ) -> Result<Query, Wrong> {
        let id = fields.take(&self.names.id)?;
        let with_ids = *self.with_ids.get_or_insert_with(|| {
            let with_ids = id.is_some() || self.names.id_is_given;
            self.without_id = (!with_ids).then(|| fields.names().map(str::to_owned).collect());
            with_ids
        });
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
        let text = match vector {
            Some(vector) => vector,
            None => {
                let text = fields.take(&self.names.text)?.ok_or_else(|| self.no_text(&id))?;
                text.into_text("text")?
            }
        };
        let answers = fields.take(ANSWERS)?.unwrap_or_default();
        let strings = answers.to_strings().ok_or_else(|| answers.wrong("answers", "a list of strings"))?;
        Ok(Query { id, text, answers: strings })
    }

    /// Reports at the end of the file that its queries were numbered, if they were.
    pub(super) fn finish(self, sink: &mut QuerySink) {
        if let Some(fields) = self.without_id {
            sink.note_numbered(fields);
        }
    }

    fn no_text(&self, id: &str) -> Wrong {
        let expected = format!("a record with {}", either(&self.names.text));
        Wrong::new(BadKind::MissingField, format!("no text for query {id}"), expected)
    }
}
