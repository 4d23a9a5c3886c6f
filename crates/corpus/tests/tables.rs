//! Collections that are tables in memory.
#![allow(clippy::unwrap_used)]

mod common;

use std::borrow::Cow;
use std::sync::Arc;

use common::{assert_error, passage, skipping};
use toller_corpus::{BadKind, Cells, ReadOptions, Table, open_table, survey_table};
use toller_ir::Passage;

type Row = (Option<&'static str>, Option<&'static str>, Option<&'static str>);

struct Rows(Vec<Row>);

impl Table for Rows {
    fn name(&self) -> &str {
        "table"
    }

    fn rows(&self) -> u64 {
        self.0.len() as u64
    }

    fn cells(&self, row: u64) -> Cells<'_> {
        let (id, title, text) = self.0[row as usize];
        let [id, title, text] = [id, title, text].map(|value| value.map(Cow::from));
        Cells { id, title, text, context: None }
    }
}

fn table(rows: &[Row]) -> Arc<dyn Table> {
    Arc::new(Rows(rows.to_vec()))
}

#[test]
fn a_table_is_a_collection() {
    let table = table(&[
        (Some("1"), Some("a title"), Some("x")),
        (Some("2"), None, Some("")),
        (Some("3"), Some(""), Some("z")),
    ]);
    let options = ReadOptions::default();
    let found = survey_table(&table, &options, |_| {}).unwrap();
    assert_eq!((found.passages, found.skipped.total()), (3, 0));
    let passages: Vec<Passage> = open_table(table, &options).collect::<Result<_, _>>().unwrap();
    assert_eq!(passages, [passage("1", "a title", "x"), passage("2", "", ""), passage("3", "", "z")]);
}

#[test]
fn bad_rows_are_found_or_skipped() {
    let good: Row = (Some("1"), None, Some("x"));
    let survey = |rows: &[Row]| survey_table(&table(rows), &ReadOptions::default(), |_| {});
    assert_error(survey(&[good, (None, None, Some("y"))]), &["table, row 2: null", "null as the identifier"]);
    assert_error(survey(&[good, (Some("2"), None, None)]), &["table, row 2: null", "null as the text"]);
    assert_error(survey(&[good, (Some(" "), None, Some("y"))]), &["table, row 2: empty id"]);
    assert_error(survey(&[good, good]), &["table, row 2: duplicate id", "first in table, row 1"]);
    assert_error(survey(&[]), &["table: no passages found"]);

    let bad =
        table(&[good, (None, None, Some("y")), (Some("1"), None, Some("z")), (Some("4"), None, Some("w"))]);
    let found = survey_table(&bad, &skipping(), |_| {}).unwrap();
    let skipped: Vec<_> = found.skipped.counts().collect();
    assert_eq!(skipped, [(BadKind::Null, 1), (BadKind::DuplicateId, 1)]);
    let kept: Vec<Passage> =
        open_table(bad, &skipping()).without(found.duplicates).collect::<Result<_, _>>().unwrap();
    assert_eq!(kept, [passage("1", "", "x"), passage("4", "", "w")]);
}
