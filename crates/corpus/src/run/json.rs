//! DuReader-retrieval's predictions: a JSON object of lists of documents.

use toller_files::InputReader;

use crate::error::{BadKind, CorpusError, Place, Wrong};
use crate::run::builder::RunBuilder;
use crate::text::{Loose, Owned, Shape, for_each_element};

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

/// The identifier of a document.
pub(super) fn document(id: &Loose<'_>) -> Result<String, Wrong> {
    id.to_id().ok_or_else(|| {
        let found = format!("{} as the document", id.describe());
        Wrong::new(BadKind::Malformed, found, "a string or an integer")
    })
}
