//! Runs as JSON: DPR's retrieval results and DuReader-retrieval's predictions.

use serde::Deserialize;
use toller_files::InputReader;

use crate::error::{BadKind, CorpusError, Place, Wrong};
use crate::run::builder::RunBuilder;
use crate::text::{Loose, Owned, Shape, for_each_element, parse_score};

/// One question of DPR's results; its texts are ignored.
#[derive(Deserialize)]
struct Question {
    ctxs: Vec<Context>,
}

#[derive(Deserialize)]
struct Context {
    #[serde(default)]
    id: Owned<Loose<'static>>,
    #[serde(default)]
    score: Owned<Loose<'static>>,
}

/// Reads DPR's array. The identifiers of queries are their positions from zero, as
/// [`read_queries`](crate::read_queries) numbers DPR's questions.
pub(crate) fn read_dpr(
    reader: InputReader,
    max_bytes: usize,
    builder: &mut RunBuilder,
) -> Result<(), CorpusError> {
    for_each_element(reader, "dpr", Shape::Array, max_bytes, |place: Place, _, question: Question| {
        let record = place.position.number();
        let query = (record - 1).to_string();
        for context in &question.ctxs {
            let added = document(&context.id.0)
                .and_then(|id| Ok((id, score(&context.score.0)?)))
                .and_then(|(id, score)| builder.add(&query, &id, score, record));
            if let Err(wrong) = added {
                builder.wrong(wrong, record)?;
            }
        }
        Ok(())
    })
}

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

fn document(id: &Loose<'_>) -> Result<String, Wrong> {
    id.to_id().ok_or_else(|| {
        let found = format!("{} as the document", id.describe());
        Wrong::new(BadKind::Malformed, found, "a string or an integer")
    })
}

/// A number, or a number in a string, as DPR writes it.
fn score(score: &Loose<'_>) -> Result<f64, Wrong> {
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
