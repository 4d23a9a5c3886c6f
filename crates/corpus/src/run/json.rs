//! Runs that are one JSON object: DuReader-retrieval's predictions, and the scores of documents by query.

use toller_files::InputReader;

use crate::error::{BadKind, CorpusError, Place, Wrong};
use crate::run::builder::RunBuilder;
use crate::text::{Fields, Loose, Owned, Shape, for_each_element, parse_score};

/// Reads DuReader's object of lists. The score of a document is minus its position from one.
pub(crate) fn read_dureader(
    reader: InputReader,
    max_bytes: usize,
    builder: &mut RunBuilder,
) -> Result<(), CorpusError> {
    let consume = |place: Place, query: String, documents: Vec<Owned<Loose<'static>>>| {
        let record = place.position.number();
        let mut score = 0.0;
        for id in &documents {
            score -= 1.0;
            if let Err(wrong) = document(&id.0).and_then(|id| builder.add(&query, &id, score, record)) {
                builder.wrong(wrong, record)?;
            }
        }
        Ok(())
    };
    for_each_element(reader, "dureader-json", Shape::Object, max_bytes, consume)
}

/// Reads an object of objects, the score of each document of each query.
pub(crate) fn read_scores(
    reader: InputReader,
    max_bytes: usize,
    builder: &mut RunBuilder,
) -> Result<(), CorpusError> {
    let consume = |place: Place, query: String, documents: Fields| {
        let record = place.position.number();
        for (document, found) in &documents.0 {
            let added = score(found).and_then(|score| builder.add(&query, document, score, record));
            if let Err(wrong) = added {
                builder.wrong(wrong, record)?;
            }
        }
        Ok(())
    };
    for_each_element(reader, "json", Shape::Object, max_bytes, consume)
}

/// The identifier of a document.
pub(super) fn document(id: &Loose<'_>) -> Result<String, Wrong> {
    id.to_id().ok_or_else(|| {
        let found = format!("{} as the document", id.describe());
        Wrong::new(BadKind::Malformed, found, "a string or an integer")
    })
}

/// A number, or a number in a string, as DPR writes it.
pub(super) fn score(score: &Loose<'_>) -> Result<f64, Wrong> {
    let number = match score {
        Loose::Integer(number) => Some(*number as f64),
        Loose::Float(number) => Some(*number),
        Loose::String(text) => parse_score(text),
        _ => None,
    };
    number.ok_or_else(|| {
        Wrong::new(BadKind::BadNumber, format!("{} as the score", score.describe()), "a finite number")
    })
}
