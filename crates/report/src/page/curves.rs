//! Curves: measures by cutoff, and precision by recall.

use maud::{Markup, html};

use super::parts::{figure, number, numbers, panel, run_cells, table};
use super::text::Plain;
use crate::data::{DepthCurves, Report};
use crate::figure::{Axis, Line, lines};

/// Measures by cutoff.
pub(super) fn depth(report: &Report) -> Markup {
    let panels = report.curves.iter().map(|curves| {
        let alternative = format!("{} by the cutoff k, a line for each run", curves.measure);
        let labels = ["cutoff k", curves.measure.as_str()];
        let drawing =
            lines(&alternative, labels, &Axis::Depths(&curves.depths), &of_runs(report, &curves.values));
        panel(&html! { (Plain(&curves.measure)) }, &drawing)
    });
    let caption = html! { "Measures by cutoff, as deep as the longest ranking (at most 1,000). The letters are those of the runs." };
    html! {
        (figure(&panels.collect::<Vec<_>>(), &caption))
        (numbers(&html! { @for curves in &report.curves { (depth_table(report, curves)) } }))
    }
}

fn depth_table(report: &Report, curves: &DepthCurves) -> Markup {
    let caption = html! { (Plain(&curves.measure)) " by cutoff." };
    let head = html! { tr { th scope="col" { "Run" } @for depth in &curves.depths { th.num scope="col" { (depth) } } } };
    table(&format!("depth {}", curves.measure), &caption, &head, &values(report, &curves.values))
}

/// Precision by recall.
pub(super) fn precision_recall(report: &Report) -> Markup {
    let of_runs = of_runs(report, &report.precision_recall);
    let alternative = "Interpolated precision at eleven levels of recall, a line for each run";
    let drawing = lines(alternative, ["recall", "precision"], &Axis::Recall, &of_runs);
    let caption = html! {
        "Interpolated precision: the highest at this level of recall or beyond, averaged over queries "
        "(" code { "IPrec@0" } " to " code { "IPrec@1" } ")."
    };
    let head = html! {
        tr {
            th scope="col" { "Run" }
            @for tenths in 0..=10 { th.num scope="col" { (format!("{:.1}", f64::from(tenths) / 10.0)) } }
        }
    };
    let content = table(
        "precision-recall",
        &html! { "Interpolated precision by recall." },
        &head,
        &values(report, &report.precision_recall),
    );
    html! {
        (figure(&[panel(&html! { "Precision by recall" }, &drawing)], &caption))
        (numbers(&content))
    }
}

fn of_runs<'a>(report: &'a Report, values: &'a [Vec<f64>]) -> Vec<Line<'a>> {
    let line = |((run, values), summary): ((usize, &'a Vec<f64>), &'a crate::data::RunSummary)| Line {
        run,
        letter: &summary.letter,
        values,
    };
    values.iter().enumerate().zip(&report.runs).map(line).collect()
}

fn values(report: &Report, values: &[Vec<f64>]) -> Markup {
    html! {
        @for (run, values) in values.iter().enumerate() {
            tr { (run_cells(report, run)) @for value in values { td.num { (number(*value)) } } }
        }
    }
}
