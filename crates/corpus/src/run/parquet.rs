//! Runs as Parquet files.

use toller_files::InputReader;

use crate::error::{BadKind, CorpusError, Wrong};
use crate::parquet::file::ParquetFile;
use crate::qrels::{DOCUMENT, QUERY};
use crate::run::builder::RunBuilder;
use crate::run::columns::score_of;
use crate::text::{Loose, Object};

/// The names of the column of scores.
const SCORE: &[&str] = &["score"];

/// Reads one hit a row.
pub(crate) fn read_rows(reader: &InputReader, builder: &mut RunBuilder) -> Result<(), CorpusError> {
    let mut row = 0;
    ParquetFile::open(reader)?.for_each_row(|fields, place| {
        row += 1;
        let added =
            hit(fields).and_then(|(query, document, score)| builder.add(&query, &document, score, row));
        added.or_else(|wrong| builder.skip(wrong.at(place)))
    })
}

/// The query, the document and the score of a row.
fn hit(mut fields: Object<'_>) -> Result<(String, String, f64), Wrong> {
    const EXPECTED: &str = "a query, a document and a score, as in q_id, doc_id and score";
    let query = fields.need(QUERY, "query", EXPECTED)?.id("query")?;
    let document = fields.need(DOCUMENT, "document", EXPECTED)?.id("document")?;
    let score = match fields.need(SCORE, "score", EXPECTED)? {
        Loose::Float(score) => score,
        Loose::Integer(score) => score as f64,
        Loose::String(text) => score_of(&text)?,
        other => {
            return Err(Wrong::new(
                BadKind::BadNumber,
                other.describe() + " as the score",
                "a finite number",
            ));
        }
    };
    Ok((query, document, score))
}
