//! Where parsed lines of a run go: checked, grouped by query.

use std::mem;

use indexmap::map::Entry;
use toller_ir::{Position, Run, RunEntry};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{BadKind, CorpusError, Place, Wrong, excerpt};
use crate::options::SkipReport;

/// Collects the entries of a run. Repeated documents of a query are found at the end, query by query, which
/// is faster than one set for all lines.
pub(crate) struct RunBuilder {
    file: String,
    run: Run,
    /// The line (or record) of each entry, parallel to the entries of `run`.
    lines: Vec<Vec<u64>>,
    /// The index of the query that the last entry belongs to: lines of a query are mostly together.
    last_query: usize,
    position: fn(u64) -> Position,
    skipped: SkipReport,
    skip_bad_lines: bool,
    /// Whether later lines of a document are skipped.
    keep_first: bool,
}

impl RunBuilder {
    pub(crate) fn new(
        file: String,
        position: fn(u64) -> Position,
        skip_bad_lines: bool,
        keep_first: bool,
    ) -> Self {
        Self {
            file,
            run: Run::default(),
            lines: Vec::new(),
            last_query: 0,
            position,
            skipped: SkipReport::default(),
            skip_bad_lines,
            keep_first,
        }
    }

    /// Adds an entry of line (or record) number `line`.
    pub(crate) fn add(&mut self, query: &str, document: &str, score: f64, line: u64) -> Result<(), Wrong> {
        if !score.is_finite() {
            return Err(Wrong::new(BadKind::BadNumber, format!("the score {score}"), "a finite number"));
        }
        for (id, what) in [(query, "query"), (document, "document")] {
            if id.trim().is_empty() {
                let found = format!("{} as the {what}", excerpt(id.as_bytes()));
                return Err(Wrong::new(BadKind::EmptyId, found, "an identifier"));
            }
        }
        let queries = &mut self.run.queries;
        if queries.get_index(self.last_query).is_none_or(|(last, _)| last != query) {
            self.last_query = match queries.entry(query.to_owned()) {
                Entry::Occupied(entry) => entry.index(),
                Entry::Vacant(entry) => {
                    let index = entry.index();
                    entry.insert(Vec::new());
                    self.lines.push(Vec::new());
                    index
                }
            };
        }
        if let Some((_, entries)) = queries.get_index_mut(self.last_query)
            && let Some(lines) = self.lines.get_mut(self.last_query)
        {
            entries.push(RunEntry { doc_id: document.to_owned(), score });
            lines.push(line);
        }
        Ok(())
    }

    /// Notes the tag of a line; the last one counts, as in trec_eval.
    pub(crate) fn tag(&mut self, tag: &str) {
        if self.run.tag != tag {
            tag.clone_into(&mut self.run.tag);
        }
    }

    /// Counts a bad line, or returns its error if bad lines are not skipped.
    pub(crate) fn wrong(&mut self, wrong: Wrong, line: u64) -> Result<(), CorpusError> {
        let error = wrong.at(self.place(line));
        self.skip(error)
    }

    pub(crate) fn skip(&mut self, error: CorpusError) -> Result<(), CorpusError> {
        self.skipped.take(error, self.skip_bad_lines)
    }

    pub(crate) fn finish(mut self) -> Result<(Run, SkipReport), CorpusError> {
        self.check_duplicates()?;
        if self.run.queries.is_empty() {
            return Err(CorpusError::Empty { files: self.file, what: "hits", after: self.skipped.after() });
        }
        Ok((self.run, self.skipped))
    }

    /// Finds documents that occur twice for a query, and drops the later ones if the first are to be kept.
    fn check_duplicates(&mut self) -> Result<(), CorpusError> {
        // The query, the later entry and the first one.
        let mut duplicates: Vec<(usize, usize, usize)> = Vec::new();
        let mut order: Vec<(u64, usize)> = Vec::new();
        for (query, entries) in self.run.queries.values().enumerate() {
            order.clear();
            let hashes = entries.iter().map(|entry| xxh3_64(entry.doc_id.as_bytes()));
            order.extend(hashes.zip(0..));
            order.sort_unstable();
            for same in order.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
                // One, unless two identifiers have the same hash.
                let mut firsts: Vec<usize> = Vec::new();
                for &(_, entry) in same {
                    let doc = |index: usize| entries.get(index).map(|entry| &entry.doc_id);
                    match firsts.iter().find(|first| doc(**first) == doc(entry)) {
                        Some(first) => duplicates.push((query, entry, *first)),
                        None => firsts.push(entry),
                    }
                }
            }
        }
        let lines = mem::take(&mut self.lines);
        let line = |query: usize, entry: usize| {
            lines.get(query).and_then(|lines| lines.get(entry)).copied().unwrap_or_default()
        };
        duplicates.sort_unstable_by_key(|(query, later, _)| line(*query, *later));
        for (query, later, first) in &duplicates {
            let (first, at) = (line(*query, *first), line(*query, *later));
            let (id, entries) = self.run.queries.get_index(*query).map_or(("", &[][..]), |(id, e)| (id, e));
            let document = entries.get(*later).map_or("", |entry| entry.doc_id.as_str());
            let first = (self.position)(first);
            let found = format!("document {document} for query {id}, which is on {first} too");
            let wrong = Wrong::new(BadKind::DuplicateHit, found, "each document once a query");
            let error = wrong.at(self.place(at));
            self.skipped.take(error, self.keep_first)?;
        }
        duplicates.sort_unstable();
        for of_query in duplicates.chunk_by(|a, b| a.0 == b.0) {
            let (mut place, mut dropped) = (0, of_query.iter().map(|(_, later, _)| *later).peekable());
            if let Some((_, entries)) =
                of_query.first().and_then(|(query, ..)| self.run.queries.get_index_mut(*query))
            {
                entries.retain(|_| {
                    place += 1;
                    dropped.next_if_eq(&(place - 1)).is_none()
                });
            }
        }
        Ok(())
    }

    fn place(&self, line: u64) -> Place {
        Place { file: self.file.clone(), position: (self.position)(line) }
    }
}
