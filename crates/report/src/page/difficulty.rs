//! How hard the queries are.

use maud::{Markup, html};

use super::differences::MOST_BARS;
use super::parts::{figure, number, panel, sampled, table};
use super::text::{Plain, Prose, Short, start};
use crate::data::{QueryDifficulty, Report};
use crate::figure::spread;
use crate::texts::Texts;

/// Rows of a table.
pub(super) const ROWS: usize = 10;

/// Characters of a query in a table.
const QUERY: usize = 160;

/// The section's content.
pub(super) fn section(report: &Report, texts: &Texts) -> Markup {
    let queries = &report.difficulty.queries;
    let drawn: Vec<&QueryDifficulty> =
        sampled(queries.len(), MOST_BARS).into_iter().map(|at| &queries[at]).collect();
    let measure = report.main_measure();
    let alternative =
        format!("{measure} of each query: the range over the runs and the mean, the hardest query first");
    let caption = html! {
        "The range of " (Plain(measure)) " over the runs and its mean (the line), a query at each place."
        @if queries.len() > MOST_BARS { " " (MOST_BARS) " of " (queries.len()) " queries are drawn." }
    };
    html! {
        (figure(&[panel(&html! { (Plain(measure)) " of all runs" }, &spread(&alternative, measure, &drawn, queries.len()))], &caption))
        (listing(report, texts, "hardest queries", "The hardest queries: the lowest means over the runs.", &hardest(report)))
        @if report.runs.len() > 1 {
            (listing(report, texts, "divided queries", "The queries on which the runs differ most.", &divided(report)))
        }
    }
}

/// The queries with the lowest means.
pub(super) fn hardest(report: &Report) -> Vec<&QueryDifficulty> {
    report.difficulty.queries.iter().take(ROWS).collect()
}

/// The queries with the greatest range.
pub(super) fn divided(report: &Report) -> Vec<&QueryDifficulty> {
    let mut queries: Vec<&QueryDifficulty> = report.difficulty.queries.iter().collect();
    queries.sort_by(|a, b| b.spread().total_cmp(&a.spread()));
    queries.truncate(ROWS);
    queries
}

fn listing(
    report: &Report,
    texts: &Texts,
    name: &str,
    caption: &str,
    queries: &[&QueryDifficulty],
) -> Markup {
    let head = html! {
        tr {
            th scope="col" { "Query" } th scope="col" { "Text" } th.num scope="col" { "Mean" }
            @for run in &report.runs { th.num scope="col" { (run.letter) } }
        }
    };
    let body = html! {
        @for query in queries {
            @let id = report.queries[query.query].as_str();
            tr {
                th scope="row" { bdi { (Short(id)) } }
                td.text dir="auto" { (Prose(&start(texts.query(id).unwrap_or_default(), QUERY))) }
                td.num { (number(query.mean)) }
                @for run in 0..report.runs.len() { td.num { (number(report.main_values(run)[query.query])) } }
            }
        }
    };
    table(name, &html! { (caption) }, &head, &body)
}
