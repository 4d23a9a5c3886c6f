//! The measures of all runs: the table and the intervals.

use maud::{Markup, html};
use toller_ir::counted;

use super::method::test_name;
use super::parts::{figure, letter, number, panel, run_cells, table};
use super::text::Plain;
use crate::data::{Estimate, Pairs, Report, RunSummary};
use crate::figure::{Row, rows};

/// For more raised letters than this there is no room of their own.
const MOST_LETTERS: usize = 12;

/// The section's content.
pub(super) fn section(report: &Report) -> Markup {
    html! {
        (measures(report))
        @for run in report.runs.iter().filter(|run| run.missing > 0) {
            p.hint {
                strong { (run.letter) } " has no results for "
                (counted(run.missing, "judged query")) ", which count as zero."
            }
        }
        (intervals(report))
    }
}

/// The best value of a measure, to mark it.
fn best(report: &Report, measure: usize) -> f64 {
    report.runs.iter().map(|run| run.estimates[measure].value).fold(f64::NEG_INFINITY, f64::max)
}

fn measures(report: &Report) -> Markup {
    let queries = counted(report.queries.len(), "judged query");
    let caption = html! {
        "Means over " (queries) ", the best in bold. Below each: the interval of 95 % confidence. "
        "Raised letters: the runs than which this run is significantly better (" (test_name(report))
        @if report.is_corrected() { ", Holm’s correction for all pairs" } ", " i { "p" } " < .05)."
    };
    let head = html! {
        tr {
            th scope="col" { "Run" }
            @for measure in &report.measures {
                th class=(room(report)) scope="col" title=(measure.summary) { (Plain(&measure.name)) }
            }
        }
    };
    let pairs = |measure: &str| report.pairs.iter().find(|pairs| pairs.measure == measure);
    let body = html! {
        @for (at, run) in report.runs.iter().enumerate() {
            tr data-run=(at) {
                (run_cells(report, at))
                @for ((place, measure), estimate) in report.measures.iter().enumerate().zip(&run.estimates) {
                    (cell(report, at, estimate, pairs(&measure.name), best(report, place)))
                }
            }
        }
    };
    table("measures", &caption, &head, &body)
}

/// The class of numbers that have room on their right for the raised letters, which hang there so that
/// numbers are aligned.
fn room(report: &Report) -> String {
    format!("num room-{}", report.runs.len().saturating_sub(1).min(MOST_LETTERS))
}

fn cell(report: &Report, run: usize, estimate: &Estimate, pairs: Option<&Pairs>, best: f64) -> Markup {
    let beaten: Vec<usize> = pairs.map(|pairs| pairs.beaten_by(run).collect()).unwrap_or_default();
    let letters = || beaten.iter().map(|other| report.runs[*other].letter.as_str());
    // A sum has no decimals.
    let shown = if pairs.is_none() && estimate.value.fract() == 0.0 {
        format!("{:.0}", estimate.value)
    } else {
        number(estimate.value)
    };
    html! {
        td class=(room(report)) data-value=(estimate.value) {
            span.value.best[estimate.value == best && pairs.is_some()] { (shown) }
            @if pairs.is_some() {
                sup {
                    @if !beaten.is_empty() { span.vh { "better than " } }
                    (letters().collect::<String>())
                }
            }
            @if let Some([low, high]) = estimate.interval {
                small { (format!("{low:.3}")) "\u{2013}" (format!("{high:.3}")) }
            }
        }
    }
}

fn intervals<'a>(report: &'a Report) -> Markup {
    let panels = report.means().map(|(at, measure)| {
        let row = |(run, summary): (usize, &'a RunSummary)| Row {
            run,
            name: &summary.letter,
            value: summary.estimates[at].value,
            interval: summary.estimates[at].interval,
        };
        let drawn: Vec<Row<'_>> = report.runs.iter().enumerate().map(row).collect();
        let alternative =
            format!("{} of each run with its interval; the table of measures has the numbers", measure.name);
        panel(&html! { (Plain(&measure.name)) }, &rows(&alternative, &drawn, None))
    });
    let caption = html! {
        "Means and intervals of 95 % confidence (bootstrap over queries). Two intervals may overlap although the "
        "difference is significant: runs are compared query by query. "
        (letter(report, 0)) " is the baseline."
    };
    figure(&panels.collect::<Vec<_>>(), &caption)
}
