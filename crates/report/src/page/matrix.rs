//! All pairs of runs: differences and their significance.

use maud::{Markup, html};

use super::parts::{letter, p_value, run_cells, signed, table};
use super::text::Plain;
use crate::data::{Pair, Pairs, Report};

/// The section's content: the first measure open, the others folded.
pub(super) fn section(report: &Report) -> Markup {
    html! {
        @for (at, pairs) in report.pairs.iter().enumerate() {
            @if at == 0 {
                (matrix(report, pairs))
            } @else {
                details { summary { (Plain(&pairs.measure)) } (matrix(report, pairs)) }
            }
        }
    }
}

fn matrix(report: &Report, pairs: &Pairs) -> Markup {
    let caption = html! {
        (Plain(&pairs.measure)) " of the row’s run minus that of the column’s, with the corrected " i { "p" } "-value "
        "(" (report.test) @if report.is_corrected() { ", Holm" } "). ▲ and ▼ mark what is significant at .05."
    };
    let head = html! {
        tr {
            th scope="col" { "Run" }
            @for at in 0..report.runs.len() { th.centre scope="col" { (letter(report, at)) } }
        }
    };
    let body = html! {
        @for row in 0..report.runs.len() {
            tr {
                (run_cells(report, row))
                @for column in 0..report.runs.len() { (cell(pairs.of(row, column))) }
            }
        }
    };
    table(&format!("pairs {}", pairs.measure), &caption, &head, &body)
}

fn cell(pair: Option<Pair>) -> Markup {
    let Some(pair) = pair else { return html! { td.centre.none { "\u{2013}" } } };
    let (class, mark) = match pair.difference {
        _ if !pair.is_significant() => ("same", ""),
        difference if difference > 0.0 => ("better", " ▲"),
        _ => ("worse", " ▼"),
    };
    let tally = format!("better on {}, same on {}, worse on {} queries", pair.wins, pair.ties, pair.losses);
    html! {
        td class={ "centre " (class) } title=(tally) {
            span.value { (signed(pair.difference)) (mark) }
            small { (p_value(pair.corrected_p)) }
        }
    }
}
