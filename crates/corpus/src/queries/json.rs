//! Queries as JSON: BEIR's and DuReader's lines, DPR's, EntityQuestions' array.

use toller_files::InputReader;
use toller_ir::Query;

use crate::error::{BadKind, CorpusError, Place, Wrong, excerpt};
use crate::queries::lines::for_each_line;
use crate::queries::sink::QuerySink;
use crate::text::{FieldNames, Fields, Owned, RecordLines, Shape, for_each_element};

/// The fields of a query, in the order of [`ID`], [`TEXT`] and [`ANSWERS`]; if several names for one field
/// occur, the first counts.
struct QueryFields;

const ID: std::ops::Range<usize> = 0..5;
const TEXT: std::ops::Range<usize> = 5..8;
const ANSWERS: std::ops::Range<usize> = 8..10;

impl FieldNames<10> for QueryFields {
    const NAMES: [&'static str; 10] =
        ["_id", "id", "qid", "query_id", "question_id", "text", "query", "question", "answers", "answer"];
}

type Record<'de> = Fields<'de, QueryFields, 10>;

const EXPECTED: &str = "a JSON object with text, query or question";

/// Reads one JSON object a line.
pub(crate) fn read_lines(
    reader: InputReader,
    max_bytes: usize,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut records = Records::default();
    for_each_line(RecordLines::json(reader, max_bytes), sink, |line, row, sink| {
        let fields: Record<'_> = serde_json::from_str(line).map_err(|error| {
            Wrong::new(BadKind::Malformed, format!("{} ({error})", excerpt(line.as_bytes())), EXPECTED)
        })?;
        records.query(&fields, row, sink).map(Some)
    })
}

/// Reads one JSON array of objects.
pub(crate) fn read_array(
    reader: InputReader,
    max_bytes: usize,
    sink: &mut QuerySink,
) -> Result<(), CorpusError> {
    let mut records = Records::default();
    for_each_element(
        reader,
        "json",
        Shape::Array,
        max_bytes,
        |place: Place, _, fields: Owned<Record<'static>>| {
            let row = place.position.number() - 1;
            let query = records.query(&fields.0, row, sink).map_err(|wrong| wrong.at(place.clone()));
            sink.take(place, query)
        },
    )
}

/// What the records of a file have in common.
#[derive(Default)]
struct Records {
    /// Whether they have identifiers, as the first of them decides.
    with_ids: Option<bool>,
}

impl Records {
    fn query(&mut self, fields: &Record<'_>, row: u64, sink: &QuerySink) -> Result<Query, Wrong> {
        if let Some(name) = fields.twice {
            return Err(Wrong::new(BadKind::Malformed, format!("the field {name} twice"), "each field once"));
        }
        let id = fields.first_of(ID);
        let with_ids = *self.with_ids.get_or_insert(id.is_some());
        let id = match id {
            Some(id) if with_ids => id.to_id().ok_or_else(|| {
                let found = format!("{} as the identifier", id.describe());
                Wrong::new(BadKind::Malformed, found, "a string or an integer")
            })?,
            None if !with_ids => sink.row_id(row),
            Some(id) => {
                let found = format!("the identifier {}", id.describe());
                return Err(Wrong::new(BadKind::ExtraColumn, found, "none, as in the file's first record"));
            }
            None => {
                let expected = "_id, id, qid, query_id or question_id, as in the file's first record";
                return Err(Wrong::new(BadKind::MissingField, "no identifier".to_owned(), expected));
            }
        };
        let text = match fields.first_of(TEXT) {
            Some(text) => text.as_str().ok_or_else(|| {
                Wrong::new(BadKind::Malformed, format!("{} as the text", text.describe()), "a string")
            })?,
            None => {
                return Err(Wrong::new(BadKind::MissingField, format!("no text for query {id}"), EXPECTED));
            }
        };
        let answers = match fields.first_of(ANSWERS) {
            None => Vec::new(),
            Some(answers) => answers.to_strings().ok_or_else(|| {
                let found = format!("{} as the answers", answers.describe());
                Wrong::new(BadKind::Malformed, found, "a list of strings")
            })?,
        };
        Ok(Query { id, text: text.to_owned(), answers })
    }
}
