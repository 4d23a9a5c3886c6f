//! Each run against the baseline, query by query: sorted differences, and one value against the other.

use maud::{Markup, html};
use toller_ir::counted;

use super::parts::{figure, number, numbers, panel, run_title, sampled, signed, table};
use super::text::{Plain, Prose, Short, start};
use crate::data::Report;
use crate::figure::{MOST_POINTS, Point, Scatter, scatter, sorted_bars};
use crate::texts::Texts;

/// At most this many bars.
pub(super) const MOST_BARS: usize = 240;

/// Characters of a query in a table.
const QUERY: usize = 120;

/// A query's values: its place, the baseline's and the run's.
type Values = (usize, f64, f64);

/// The section's content.
pub(super) fn section(report: &Report, texts: &Texts) -> Markup {
    let runs = 1..report.runs.len();
    let all = report.queries.len();
    let measure = report.main_measure();
    let caption = html! {
        "Differences in " (Plain(measure)) " from the baseline, query by query, sorted. "
        "Move over the bars, or use the slider below a panel and the arrow keys, to read a query."
        @if all > MOST_BARS {
            " Of " (all) " queries " (MOST_BARS) " are drawn: the " (MOST_BARS / 4)
                " at each end, and others evenly from between."
        }
    };
    let against = html! {
        (Plain(measure)) " of each query: the baseline’s across, the run’s up. Above the diagonal the run is better."
        @if all > MOST_POINTS { " A circle’s area is in proportion to the number of queries at its place." }
    };
    html! {
        (figure(&runs.clone().map(|run| sorted(report, texts, run)).collect::<Vec<_>>(), &caption))
        (figure(&runs.map(|run| one_against_other(report, texts, run)).collect::<Vec<_>>(), &against))
    }
}

fn sorted(report: &Report, texts: &Texts, run: usize) -> Markup {
    let mut values: Vec<Values> = pairs(report, run).collect();
    values.sort_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)).then(a.0.cmp(&b.0)));
    let count =
        |which: fn(f64) -> bool| values.iter().filter(|(_, before, after)| which(after - before)).count();
    let (worse, better) = (count(|gain| gain < 0.0), count(|gain| gain > 0.0));
    let all = values.len();
    let shown: Vec<Values> = sampled(all, MOST_BARS).into_iter().map(|at| values[at]).collect();
    let differences: Vec<f64> = shown.iter().map(|(_, before, after)| after - before).collect();
    let letter = &report.runs[run].letter;
    let summary = format!(
        "better on {}, worse on {worse}, the same on {}",
        counted(better, "query"),
        all - worse - better
    );
    let alternative = format!("Sorted differences of run {letter} from the baseline: {summary}");
    let id = format!("probe-{run}");
    let content = html! {
        div.probe {
            (sorted_bars(&alternative, "difference", run, &differences, all))
            label.vh for=(id) { "Query of run " (letter) ", by difference" }
            input id=(id) type="range" min="0" max=(shown.len().saturating_sub(1)) value="0" hidden;
            output for=(id) { (summary) }
            (numbers(&listing(report, texts, run, &shown)))
        }
    };
    panel(&run_title(report, run), &content)
}

fn listing(report: &Report, texts: &Texts, run: usize, shown: &[Values]) -> Markup {
    let [before, after] = [0, run].map(|run| report.runs[run].letter.as_str());
    let head = html! {
        tr {
            th scope="col" { "Query" } th scope="col" { "Text" }
            th.num scope="col" { (before) } th.num scope="col" { (after) } th.num scope="col" { "Difference" }
        }
    };
    let body = html! {
        @for (query, first, second) in shown {
            @let id = report.queries[*query].as_str();
            tr {
                th scope="row" { bdi { (Short(id)) } }
                td dir="auto" { (Prose(&start(texts.query(id).unwrap_or_default(), QUERY))) }
                td.num { (number(*first)) } td.num { (number(*second)) } td.num { (signed(second - first)) }
            }
        }
    };
    let caption = html! { (Plain(report.main_measure())) " of " (before) " and " (after) " by query, in the order of the bars." };
    table(&format!("differences {after}"), &caption, &head, &body)
}

fn one_against_other(report: &Report, texts: &Texts, run: usize) -> Markup {
    let point = |(query, x, y): Values| {
        let id = report.queries[query].as_str();
        let text = start(texts.query(id).unwrap_or_default(), QUERY);
        Point { x, y, name: format!("{id} {text}: {x:.4}, {y:.4}"), is_labelled: false }
    };
    let points: Vec<Point> = pairs(report, run).map(point).collect();
    let [before, after] = [0, run].map(|run| report.runs[run].letter.as_str());
    let labels = [before, after].map(|letter| format!("{} of {letter}", report.main_measure()));
    let of = Scatter { run, labels: labels.each_ref().map(String::as_str), points: &points, mark: None };
    let alternative = format!("{} against {}, a point for each query", labels[1], labels[0]);
    panel(&run_title(report, run), &scatter(&alternative, &of))
}

fn pairs(report: &Report, run: usize) -> impl Iterator<Item = Values> + '_ {
    let values = report.main_values(0).iter().zip(report.main_values(run));
    values.enumerate().map(|(query, (before, after))| (query, *before, *after))
}
