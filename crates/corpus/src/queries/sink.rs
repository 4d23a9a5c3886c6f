//! Where parsed queries go: checked, numbered, counted.

use std::collections::HashMap;

use toller_files::Input;
use toller_ir::{Position, Query};

use crate::error::{BadKind, CorpusError, Place, Wrong, excerpt};
use crate::options::SkipReport;
use crate::run::check_writable;

/// What each of several files is called: its name up to the first dot, or up to the last one where that is
/// also another file's name (`P36.train.json`, `P36.dev.json`). Standard input has no name.
pub(crate) fn stems(inputs: &[Input]) -> Vec<Option<&str>> {
    let names: Vec<Option<&str>> = inputs.iter().map(Input::plain_name).collect();
    let shorts: Vec<Option<&str>> = names.iter().map(|name| name.map(short)).collect();
    let is_shared = |stem: Option<&str>| shorts.iter().filter(|other| **other == stem).nth(1).is_some();
    let of_shared = names.iter().map(|name| name.map(whole));
    of_shared.zip(&shorts).map(|(whole, &short)| if is_shared(short) { whole } else { short }).collect()
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn whole(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// What identifiers from row numbers begin with: one of several files has a stem, as in `P36-0` for the first
/// row of `P36.test.json`.
pub(crate) fn row_prefix(stem: Option<&str>) -> String {
    stem.map_or_else(String::new, |stem| format!("{stem}-"))
}

/// Collects the queries of all inputs.
pub(crate) struct QuerySink {
    queries: Vec<Query>,
    /// Where each identifier is: the index of the file, and the position in it.
    places: HashMap<String, (usize, Position)>,
    files: Vec<String>,
    skipped: SkipReport,
    skip_bad_lines: bool,
    /// The prefix of row numbers as identifiers: nothing for one input, the file's stem for several.
    prefix: String,
}

impl QuerySink {
    pub(crate) fn new(skip_bad_lines: bool) -> Self {
        Self {
            queries: Vec::new(),
            places: HashMap::new(),
            files: Vec::new(),
            skipped: SkipReport::default(),
            skip_bad_lines,
            prefix: String::new(),
        }
    }

    /// Begins the next input. One of several has a stem.
    pub(crate) fn begin(&mut self, input: &Input, stem: Option<&str>) {
        self.files.push(input.to_string());
        self.prefix = row_prefix(stem);
    }

    /// How many queries there are so far.
    pub(crate) fn count(&self) -> usize {
        self.queries.len()
    }

    /// The identifier of a query that has none of its own. `row` counts from zero.
    pub(crate) fn row_id(&self, row: u64) -> String {
        format!("{}{row}", self.prefix)
    }

    /// Reports that the current file's queries were numbered; its first record has these fields.
    pub(crate) fn note_numbered(&mut self, fields: Vec<String>) {
        let file = self.files.last().cloned().unwrap_or_default();
        self.skipped.add_numbered(file, fields);
    }

    /// Takes the query at `place`, or counts the bad record.
    ///
    /// # Errors
    /// The bad record, unless bad records are skipped; any other error.
    pub(crate) fn take(
        &mut self,
        place: Place,
        parsed: Result<Query, CorpusError>,
    ) -> Result<(), CorpusError> {
        let checked = parsed.and_then(|query| self.check(&place, query));
        match checked {
            Ok(query) => {
                self.places.insert(query.id.clone(), (self.files.len().saturating_sub(1), place.position));
                self.queries.push(query);
                Ok(())
            }
            Err(error) => self.skipped.take(error, self.skip_bad_lines),
        }
    }

    fn check(&self, place: &Place, query: Query) -> Result<Query, CorpusError> {
        let bad = |kind, found: &str, expected: String| {
            Err(Wrong::new(kind, excerpt(found.as_bytes()), expected).at(place.clone()))
        };
        if query.id.trim().is_empty() {
            return bad(BadKind::EmptyId, &query.id, "an identifier".to_owned());
        }
        check_writable("query", &query.id).map_err(|wrong| wrong.at(place.clone()))?;
        if query.text.trim().is_empty() {
            return bad(BadKind::EmptyQuery, &query.text, format!("a text for query {}", query.id));
        }
        if let Some((file, position)) = self.places.get(&query.id) {
            let file = self.files.get(*file).cloned().unwrap_or_default();
            let first = Place { file, position: *position };
            let expected = format!("each identifier once; this one is first in {first}");
            return bad(BadKind::DuplicateId, &query.id, expected);
        }
        Ok(query)
    }

    pub(crate) fn finish(self, inputs: &[Input]) -> Result<(Vec<Query>, SkipReport), CorpusError> {
        if self.queries.is_empty() {
            let names: Vec<_> = inputs.iter().map(Input::to_string).collect();
            let files = if names.is_empty() { "no input".to_owned() } else { names.join(", ") };
            return Err(CorpusError::Empty { files, what: "queries", after: self.skipped.after() });
        }
        Ok((self.queries, self.skipped))
    }
}
