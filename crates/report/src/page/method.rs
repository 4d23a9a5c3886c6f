//! How the figures were made, and what is not on the page.

use maud::{Markup, html};

use super::parts::table;
use super::text::Plain;
use crate::data::Report;

/// The section's content.
pub(super) fn section(report: &Report) -> Markup {
    html! {
        dl {
            @for measure in &report.measures { dt { (Plain(&measure.name)) } dd { (measure.summary) "." } }
        }
        p {
            "Values equal those of NIST’s trec_eval. Documents are ordered by score, then by identifier, both descending. "
            "A judged query without results counts as zero. Queries of a run that are not judged are ignored. "
            "A document is relevant from grade " (report.relevance_level) " on, unless a measure names its own grade."
        }
        p {
            "Differences are tested over queries, paired and two-sided, by the " (test_name(report)) ". "
            @if report.is_corrected() {
                "The " i { "p" } "-values of one measure are corrected together for all pairs of runs (Holm 1979). "
            }
            "Intervals of means come from 2,000 bootstrap samples of the queries, "
            "corrected for bias and acceleration (Efron 1987). Tests and intervals ask what other queries of this kind would give, not what "
            "other judgments or another collection would."
        }
        p {
            "The page holds the numbers of its figures, not the runs. Rankings and passages are shown only of the queries under losses and gains. Query texts are also in the lists of queries. "
            "Passages over 8,000 characters are cut. The values of every query are in the report’s data."
        }
        (files(report))
        p.hint { "Judgments: " bdi { (Plain(&report.judgments)) } ". Made by Toller " (env!("CARGO_PKG_VERSION")) "." }
    }
}

/// The significance test.
pub(super) fn test_name(report: &Report) -> Markup {
    match report.test {
        "t-test" => html! { i { "t" } "-test (Student 1908)" },
        "randomization" => html! { "randomisation test (Fisher 1935)" },
        "bootstrap" => html! { "bootstrap test (Sakai 2006)" },
        "wilcoxon" => html! { "signed-rank test (Wilcoxon 1945)" },
        _ => html! { "randomised Tukey test, which covers all pairs at once (Carterette 2012)" },
    }
}

fn files(report: &Report) -> Markup {
    let head = html! {
        tr {
            th scope="col" { "Letter" } th scope="col" { "Run" }
            th.num scope="col" { "Without results" } th.num scope="col" { "Not judged" }
        }
    };
    let body = html! {
        @for run in &report.runs {
            tr {
                th scope="row" { (run.letter) }
                td { bdi { (Plain(&run.file)) } }
                td.num { (run.missing) }
                td.num { (run.unjudged) }
            }
        }
    };
    table(
        "files",
        &html! { "The files of the runs. Judged queries without results count as zero; others are ignored." },
        &head,
        &body,
    )
}
