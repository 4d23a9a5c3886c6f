//! Web pages: one file each, which loads nothing from elsewhere.
//!
//! maud writes the HTML: its macros are checked when Toller is compiled, they escape whatever is not HTML
//! already, and parts of a page are functions with arguments. (Files of templates, as askama has them, suit
//! pages with one large frame; here there are many small parts with numbers in them.)

mod annotation;
mod curves;
mod diff;
mod differences;
mod difficulty;
mod failures;
mod matrix;
mod method;
mod notes;
mod overview;
mod parts;
mod queries;
mod ranks;
mod relative;
mod reproduction;
mod shell;
mod text;

use maud::{Markup, html};
use toller_ir::counted;
use xxhash_rust::xxh3::xxh3_64;

pub use annotation::{GradeLabel, annotation_page};
pub use diff::diff_page;
pub use failures::failures_page;
pub use queries::Judged;
pub use reproduction::reproduction_page;
pub use shell::{FrameSources, GENERATOR, STYLE};
pub(crate) use text::Plain;

use crate::data::Report;
use crate::texts::Texts;

/// The scripts of a report's page.
const REPORT_SCRIPTS: &[&str] = &[include_str!("report.js")];

/// What a page that shows a report or a diff in a frame has to allow.
#[must_use]
pub fn frame_sources() -> FrameSources {
    FrameSources::of(&[REPORT_SCRIPTS, notes::SCRIPTS])
}

/// A section of the report.
struct Section {
    id: &'static str,
    title: &'static str,
    content: Markup,
}

/// The page of a report.
#[must_use]
pub fn report_page(report: &Report, texts: &Texts) -> String {
    let sections = sections(report, texts);
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        header.report {
            h1 { (Plain(&report.title)) }
            p {
                (counted(report.runs.len(), "run")) ", "
                    (counted(report.queries.len(), "judged query"))
                ", judgments: " bdi { (Plain(&report.judgments)) }
            }
        }
        div.layout {
            nav aria-label="Contents" {
                ol { @for section in &sections { li { a href={ "#" (section.id) } { (section.title) } } } }
                h2 { "Runs" }
                (parts::key(report))
            }
            main #main {
                @for section in &sections {
                    section id=(section.id) aria-labelledby={ (section.id) "-title" } {
                        h2 id={ (section.id) "-title" } { (section.title) }
                        (section.content)
                    }
                }
            }
        }
    };
    shell::page(&report.title, "report", REPORT_SCRIPTS, &body)
}

fn sections(report: &Report, texts: &Texts) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut add = |id, title, content| sections.push(Section { id, title, content });
    let is_comparison = report.runs.len() > 1;
    add("measures", "Measures", overview::section(report));
    if is_comparison {
        add("significance", "Significance", matrix::section(report));
    }
    add("depth", "Depth", curves::depth(report));
    add("ranks", "First relevant ranks", ranks::section(report));
    if is_comparison {
        add("relative", "Relative effectiveness", relative::section(report));
    }
    if let Some(groups) = &report.groups {
        add("groups", "Groups of queries", relative::groups(report, groups));
    }
    add("precision-recall", "Precision and recall", curves::precision_recall(report));
    if is_comparison {
        add("differences", "Query by query", differences::section(report, texts));
    }
    add("difficulty", "Query difficulty", difficulty::section(report, texts));
    if report.contrasts.iter().any(|contrast| !contrast.shown.is_empty()) {
        add("queries", "Losses and gains", losses_and_gains(report, texts));
    }
    add("method", "Method", method::section(report));
    sections
}

/// The queries that differ most, of each run.
fn losses_and_gains(report: &Report, texts: &Texts) -> Markup {
    html! {
        p {
            "For each run, the queries on which it loses or gains most against the baseline by "
                (Plain(report.main_measure()))
            ", with the first documents of both. Unjudged documents deserve a look first: they may be relevant."
        }
        @for (contrast, run) in report.contrasts.iter().zip(1..) {
            details.contrast open[run == 1] {
                summary {
                    (parts::run_title(report, run)) " against the baseline: "
                    (contrast.lost) " queries lost, " (contrast.gained) " gained; shown " (contrast.shown.len())
                }
                (queries::articles(contrast, texts, &html! {}))
            }
        }
    }
}

/// A key of what a page is about, the same for the same content.
fn key(content: &str) -> String {
    format!("{:016x}", xxh3_64(content.as_bytes()))
}
