//! Parts that several sections use.

use maud::{Markup, html};

use super::text::{Plain, Short};
use crate::data::Report;
use crate::figure::run_class;

/// The letter of a run in its colour.
pub(super) fn letter(report: &Report, run: usize) -> Markup {
    html! { span class={ "badge " (run_class(run)) } { (report.runs[run].letter) } }
}

/// The runs with their letters. With a pointer or the keyboard, a run is brought to the fore in all figures.
pub(super) fn key(report: &Report) -> Markup {
    html! {
        ul.key {
            @for (at, run) in report.runs.iter().enumerate() {
                li {
                    button type="button" aria-pressed="false" data-pick=(at) title=(Plain(&run.file)) {
                        (letter(report, at)) bdi { (Short(&run.name)) }
                        @if at == 0 { small { "baseline" } }
                    }
                }
            }
        }
    }
}

/// A table that scrolls for itself where the page is too narrow; `name` is the name of its CSV file.
pub(super) fn table(name: &str, caption: &Markup, head: &Markup, body: &Markup) -> Markup {
    html! {
        // A container for the caption's width keeps counters to itself, so the table is counted outside of
        // it.
        div.table {
            div.scroll tabindex="0" role="region" aria-label={ "Table: " (name) } {
                table data-csv=(name) {
                    caption { span { (caption) } }
                    thead { (head) }
                    tbody { (body) }
                }
            }
        }
    }
}

/// The numbers of a figure, folded.
pub(super) fn numbers(table: &Markup) -> Markup {
    html! { details.numbers { summary { "Numbers" } (table) } }
}

/// Panels with a caption.
pub(super) fn figure(panels: &[Markup], caption: &Markup) -> Markup {
    html! {
        figure {
            div.panels { @for panel in panels { (panel) } }
            figcaption { span { (caption) } }
        }
    }
}

/// A panel with a title.
pub(super) fn panel(title: &Markup, content: &Markup) -> Markup {
    html! { div.panel { h3 { (title) } (content) } }
}

/// The title of a panel that is about one run.
pub(super) fn run_title(report: &Report, run: usize) -> Markup {
    html! { (letter(report, run)) " " bdi { (Short(&report.runs[run].name)) } }
}

/// The first cells of a row that is about a run.
pub(super) fn run_cells(report: &Report, run: usize) -> Markup {
    html! {
        th scope="row" title=(Plain(&report.runs[run].file)) {
            (letter(report, run)) " " bdi { (Short(&report.runs[run].name)) }
        }
    }
}

/// A value with four decimals.
pub(super) fn number(value: f64) -> String {
    if value.is_finite() { format!("{value:.4}") } else { "\u{2013}".to_owned() }
}

/// A difference with its sign, unless all its digits are zero; the minus is as wide as the plus.
pub(super) fn signed(difference: f64) -> String {
    let shown = format!("{difference:+.4}");
    match shown.trim_start_matches(['+', '-', '0', '.']) {
        "" => "0.0000".to_owned(),
        _ => shown.replace('-', "\u{2212}"),
    }
}

/// A p-value with as many digits as say something.
pub(super) fn p_value(p: f64) -> String {
    if p < 0.0001 { "<.0001".to_owned() } else { format!("{p:.4}").trim_start_matches('0').to_owned() }
}

/// At most `most` places of a sorted list of `count`: both ends whole, and between them evenly spread ones.
pub(super) fn sampled(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let end = most / 4;
    let (inner, wanted) = (count - 2 * end, most - 2 * end);
    let middle = (0..wanted).map(|at| end + at * inner / wanted);
    (0..end).chain(middle).chain(count - end..count).collect()
}

#[cfg(test)]
mod tests {
    use super::{number, p_value, sampled, signed};

    #[test]
    fn samples_hold_both_ends() {
        assert_eq!(sampled(5, 10), [0, 1, 2, 3, 4]);
        let sample = sampled(6980, 240);
        assert_eq!(sample.len(), 240);
        assert!(sample.is_sorted() && sample.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((sample[59], sample[180]), (59, 6920));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([signed(0.5), signed(-0.25), signed(-1e-9)], ["+0.5000", "\u{2212}0.2500", "0.0000"]);
        assert_eq!([p_value(0.00001), p_value(0.0312), p_value(1.0)], ["<.0001", ".0312", "1.0000"]);
        assert_eq!([number(0.5), number(f64::NAN)], ["0.5000", "\u{2013}"]);
    }
}
