//! Where the first relevant document is.

use maud::{Markup, html};

use super::parts::{figure, numbers, panel, run_cells, run_title, table};
use crate::data::Report;
use crate::figure::{Histogram, histogram};

/// The section's content.
pub(super) fn section(report: &Report) -> Markup {
    let ranks = &report.ranks;
    let queries = report.queries.len().max(1) as f64;
    let ends: Vec<usize> = (1..=ranks.depth() / ranks.width).map(|bin| bin * ranks.width).collect();
    let panels = report.runs.iter().enumerate().zip(&ranks.found).zip(&ranks.not_found);
    let panels = panels.map(|(((run, summary), found), none)| {
        let shares: Vec<f64> = found.iter().map(|count| *count as f64 / queries).collect();
        let of = Histogram { run, shares: &shares, none: *none as f64 / queries, ends: &ends };
        let alternative =
            format!("Ranks of the first relevant documents of run {}; not found: {none}", summary.letter);
        panel(&run_title(report, run), &histogram(&alternative, &of))
    });
    let caption = html! {
        "The rank of each query’s first relevant document, in bins of " (ranks.width)
            ". The hollow bar counts queries without a relevant "
        "document among the first " (ranks.depth()) ". The line is the share among the queries in the bins, so "
        "bars show recall and the line shows the ranking of what was found (as in Mr. TyDi, Zhang et al. 2021)."
    };
    let head = html! {
        tr {
            th scope="col" { "Run" }
            @for bin in 0..ends.len() { th.num scope="col" { (ranks.bin(bin)) } }
            th.num scope="col" { "none" }
        }
    };
    let body = html! {
        @for (run, (found, none)) in ranks.found.iter().zip(&ranks.not_found).enumerate() {
            tr { (run_cells(report, run)) @for count in found { td.num { (count) } } td.num { (none) } }
        }
    };
    html! {
        (figure(&panels.collect::<Vec<_>>(), &caption))
        (numbers(&table("ranks", &html! { "Queries by the rank of their first relevant document." }, &head, &body)))
    }
}
