//! A reproduction as a table, as Markdown and as JSON.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use toller_report::{Outcome, ReproducedTable, ReproducedValue, Reproduction};

use crate::args::replacing::has_line;
use crate::table::{Align, table as text_table};

/// A line for each source: how many of its figures were measured.
pub(super) fn table(reproduction: &Reproduction) -> String {
    let titles = ["source", "figures", "with a recipe", "measured", "as published", "off", "older"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for paper in &reproduction.papers {
        let count = |is: &dyn Fn(&ReproducedValue) -> bool| paper.values().filter(|value| is(value)).count();
        let of = |outcome: Outcome| {
            count(&|value| value.measured.as_ref().is_some_and(|measured| measured.outcome == outcome))
        };
        let counts = [
            count(&|_| true),
            count(&|value| value.experiment.is_some()),
            count(&|value| value.measured.is_some()),
            of(Outcome::AsPublished),
            of(Outcome::Off),
            of(Outcome::Older),
        ];
        rows.push(std::iter::once(paper.name.clone()).chain(counts.map(|count| count.to_string())).collect());
    }
    let right = Align::Right;
    text_table(&rows, &[Align::Left, right, right, right, right, right, right])
}

/// The titles of the columns in Markdown, in the third line of what [`markdown`] makes.
const TITLES: &str =
    "| Table | System | Collection | Measure | Published | Measured | Tolerance | Outcome | Date |";

/// Whether a file is what [`markdown`] made. People keep such tables under words of their own.
pub(super) fn is_markdown(file: &Path) -> bool {
    has_line(file, 2, |line| line == TITLES)
}

/// What was measured, one line each, under a heading for each source.
pub(super) fn markdown(reproduction: &Reproduction) -> String {
    let mut text = String::new();
    for paper in &reproduction.papers {
        let rows: String = paper.tables.iter().map(markdown_rows).collect();
        if rows.is_empty() {
            continue;
        }
        let line = "|---|---|---|---|---|---|---|---|---|";
        // Writing to a string does not fail.
        let _ = write!(text, "## {}\n\n{TITLES}\n{line}\n{rows}\n", escaped(&paper.name));
    }
    text
}

fn markdown_rows(table: &ReproducedTable) -> String {
    let mut text = String::new();
    for value in &table.values {
        let Some(measured) = &value.measured else { continue };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.5} | {} | {} | {} |",
            escaped(&table.title),
            escaped(&table.systems[value.system]),
            escaped(&table.collections[value.collection]),
            escaped(&table.measures[value.measure]),
            value.published.as_deref().unwrap_or("-"),
            measured.value,
            measured.tolerance,
            measured.outcome.words(),
            measured.date,
        );
    }
    text
}

/// Text in a cell of Markdown.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

pub(super) fn json(reproduction: &Reproduction) -> Value {
    let papers = reproduction.papers.iter().map(|paper| {
        let tables = paper.tables.iter().map(table_json).collect::<Vec<_>>();
        json!({"id": paper.id, "name": paper.name, "tables": tables})
    });
    let experiments = reproduction.experiments.iter().map(|experiment| {
        json!({"title": experiment.title, "command": experiment.command, "missing": experiment.missing})
    });
    json!({"papers": papers.collect::<Vec<_>>(), "experiments": experiments.collect::<Vec<_>>()})
}

fn table_json(table: &ReproducedTable) -> Value {
    let values = table.values.iter().map(|value| {
        let measured = value.measured.as_ref();
        json!({
            "system": table.systems[value.system],
            "collection": table.collections[value.collection],
            "measure": table.measures[value.measure],
            "published": value.published,
            "experiment": value.experiment,
            "measured": measured.map(|measured| measured.value),
            "tolerance": measured.map(|measured| measured.tolerance),
            "outcome": measured.map(|measured| measured.outcome.words()),
            "date": measured.map(|measured| measured.date.as_str()),
        })
    });
    let absent = table.absent.iter().map(|(system, why)| json!({"system": system, "why": why}));
    json!({
        "title": table.title,
        "notes": table.notes,
        "values": values.collect::<Vec<_>>(),
        "absent": absent.collect::<Vec<_>>(),
    })
}
