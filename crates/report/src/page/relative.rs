//! Effectiveness relative to the baseline: by measure, and by group of queries.

use maud::{Markup, html};

use super::parts::{figure, number, numbers, panel, run_cells, run_title, table};
use super::text::{Plain, Short};
use crate::data::{Groups, Report, RunSummary};
use crate::figure::{Point, Row, Scatter, rows, scatter};

/// By measure.
pub(super) fn section(report: &Report) -> Markup {
    let Some(baseline) = report.runs.first() else { return html! {} };
    let ratio = |run: &RunSummary, at: usize| run.estimates[at].value / baseline.estimates[at].value;
    let panels = report.means().map(|(at, measure)| {
        let of_run = |(run, summary): (usize, &'_ RunSummary)| (run, ratio(summary, at));
        let ratios: Vec<(usize, f64)> = report.runs.iter().enumerate().skip(1).map(of_run).collect();
        let row = |(run, value): &(usize, f64)| Row {
            run: *run,
            name: &report.runs[*run].letter,
            value: *value,
            interval: None,
        };
        let drawn: Vec<Row<'_>> = ratios.iter().map(row).collect();
        let alternative = format!("{} of each run divided by that of the baseline", measure.name);
        panel(&html! { (Plain(&measure.name)) }, &rows(&alternative, &drawn, Some(1.0)))
    });
    let caption = html! { "Each run’s mean divided by that of the baseline, which is 1." };
    let head = html! {
        tr {
            th scope="col" { "Run" }
            @for (_, measure) in report.means() { th.num scope="col" { (Plain(&measure.name)) } }
        }
    };
    let body = html! {
        @for (at, run) in report.runs.iter().enumerate() {
            tr {
                (run_cells(report, at))
                @for (measure, _) in report.means() { td.num { (number(ratio(run, measure))) } }
            }
        }
    };
    html! {
        (figure(&panels.collect::<Vec<_>>(), &caption))
        (numbers(&table("relative", &html! { "Means relative to the baseline." }, &head, &body)))
    }
}

/// By group of queries: bars, and one run against another.
pub(super) fn groups(report: &Report, groups: &Groups) -> Markup {
    let compared = 1..report.runs.len();
    let measure = report.main_measure();
    let bars = compared.clone().map(|run| {
        let row =
            |group: &'_ crate::data::Group| (group.name.clone(), group.relative(run).unwrap_or(f64::NAN));
        let relative: Vec<_> = groups.groups.iter().map(row).collect();
        let drawn: Vec<Row<'_>> =
            relative.iter().map(|(name, value)| Row { run, name, value: *value, interval: None }).collect();
        let alternative =
            format!("{measure} of run {} by group, relative to the baseline", report.runs[run].letter);
        panel(&run_title(report, run), &rows(&alternative, &drawn, Some(1.0)))
    });
    let caption =
        html! { (Plain(measure)) " by group of queries, relative to the baseline’s in the same group." };
    html! {
        (figure(&bars.collect::<Vec<_>>(), &caption))
        @if report.runs.len() > 2 { (against(report, groups)) }
        @if groups.without > 0 { p.hint { (groups.without) " judged queries are in no group." } }
        (numbers(&group_table(report, groups)))
    }
}

/// Pairs of compared runs whose relative effectiveness is drawn.
const MOST_PAIRS: usize = 6;

/// The relative effectiveness of one run against another's, a point for each group.
fn against(report: &Report, groups: &Groups) -> Markup {
    let runs = report.runs.len();
    let pairs = (1..runs).flat_map(|first| (first + 1..runs).map(move |second| (first, second)));
    let panels = pairs.take(MOST_PAIRS).map(|(first, second)| {
        let point = |group: &crate::data::Group| {
            let (x, y) = (group.relative(first)?, group.relative(second)?);
            Some(Point { x, y, name: group.name.clone(), is_labelled: true })
        };
        let points: Vec<Point> = groups.groups.iter().filter_map(point).collect();
        let labels = [first, second]
            .map(|run| format!("{} relative to {}", report.runs[run].letter, report.runs[0].letter));
        let of = Scatter {
            run: second,
            labels: labels.each_ref().map(String::as_str),
            points: &points,
            mark: Some(1.0),
        };
        let alternative = format!("{} against {}, a point for each group", labels[1], labels[0]);
        panel(
            &html! { (run_title(report, second)) " against " (run_title(report, first)) },
            &scatter(&alternative, &of),
        )
    });
    let caption = html! {
        "Relative effectiveness of one run against another’s, a point for each group (as in Mr. TyDi’s Figure 2). "
        "Lines mark the baseline, which is 1; on the diagonal both runs are the same."
    };
    figure(&panels.collect::<Vec<_>>(), &caption)
}

fn group_table(report: &Report, groups: &Groups) -> Markup {
    let head = html! {
        tr {
            th scope="col" { "Group" } th.num scope="col" { "Queries" }
            @for run in &report.runs { th.num scope="col" { (run.letter) } }
        }
    };
    let body = html! {
        @for group in &groups.groups {
            tr {
                th scope="row" { bdi { (Short(&group.name)) } }
                td.num { (group.queries) }
                @for mean in &group.means { td.num { (number(*mean)) } }
            }
        }
    };
    table("groups", &html! { (Plain(report.main_measure())) " by group of queries." }, &head, &body)
}
