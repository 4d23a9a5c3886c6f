//! Where parsed judgments go: checked, counted.

use std::collections::HashMap;

use toller_ir::Qrels;
use xxhash_rust::xxh3::Xxh3;

use crate::error::{BadKind, CorpusError, Wrong, excerpt};
use crate::options::SkipReport;
use crate::text::LineReader;

/// One parsed line.
#[derive(Clone, Copy)]
pub(crate) struct Judgment<'a> {
    pub(crate) query: &'a str,
    pub(crate) document: &'a str,
    pub(crate) grade: i32,
}

/// Collects the judgments of a file.
pub(crate) struct QrelsBuilder {
    qrels: Qrels,
    /// The line of each judgment, by the hash of its query and document; for messages alone.
    lines: HashMap<u128, u64>,
    skipped: SkipReport,
    skip_bad_lines: bool,
}

impl QrelsBuilder {
    pub(crate) fn new(skip_bad_lines: bool) -> Self {
        Self { qrels: Qrels::new(), lines: HashMap::new(), skipped: SkipReport::default(), skip_bad_lines }
    }

    /// Adds the judgment of line number `line`.
    pub(crate) fn add(&mut self, judgment: Judgment<'_>, line: u64) -> Result<(), Wrong> {
        let Judgment { query, document, grade } = judgment;
        for (id, what) in [(query, "query"), (document, "document")] {
            if id.trim().is_empty() {
                let found = format!("{} as the {what}", excerpt(id.as_bytes()));
                return Err(Wrong::new(BadKind::EmptyId, found, "an identifier"));
            }
        }
        let key = key(query, document);
        if let Some(earlier) = self.qrels.insert(query, document, grade) {
            let first = self.lines.get(&key).copied().unwrap_or_default();
            let found = format!(
                "grade {grade} for query {query} and document {document}, which have grade {earlier} on line {first}"
            );
            return Err(Wrong::new(BadKind::DuplicateJudgment, found, "each pair once"));
        }
        self.lines.insert(key, line);
        Ok(())
    }

    /// Counts a bad line, or returns its error if bad lines are not skipped.
    pub(crate) fn wrong(&mut self, wrong: Wrong, lines: &LineReader) -> Result<(), CorpusError> {
        self.skip(wrong.at(lines.place()))
    }

    pub(crate) fn skip(&mut self, error: CorpusError) -> Result<(), CorpusError> {
        self.skipped.take(error, self.skip_bad_lines)
    }

    pub(crate) fn finish(self, file: String) -> Result<(Qrels, SkipReport), CorpusError> {
        if self.qrels.is_empty() {
            return Err(CorpusError::Empty { files: file, what: "judgments", after: self.skipped.after() });
        }
        Ok((self.qrels, self.skipped))
    }
}

fn key(query: &str, document: &str) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&(query.len() as u64).to_le_bytes());
    hash.update(query.as_bytes());
    hash.update(document.as_bytes());
    hash.digest128()
}
