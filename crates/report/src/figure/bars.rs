//! Differences of queries, sorted: a bar for each.

use maud::{Markup, html};

use super::frame::{At, Axes, HEIGHT, LEFT, RIGHT, drawing, run_class, vertical};
use super::scale::{Scale, rounded};

/// The panel: a bar for each of the differences, which are in ascending order. `all` is the number of
/// queries; not all have a bar.
pub(crate) fn sorted_bars(
    alternative: &str,
    y_label: &str,
    run: usize,
    differences: &[f64],
    all: usize,
) -> Markup {
    let largest = differences.iter().fold(0.0_f64, |largest, difference| largest.max(difference.abs()));
    let [_, end] = rounded([0.0, if largest > 0.0 { largest } else { 1.0 }]);
    let x = Scale::linear([0.0, differences.len().max(1) as f64], [LEFT, RIGHT + 12.0]);
    let y = vertical([-end, end]);
    let shown = differences.len();
    let x_label = if shown == all { format!("{all} queries") } else { format!("{shown} of {all} queries") };
    let axes = Axes { x: &x, y: &y, x_label: &x_label, y_label };
    let width = (x.place(1.0) - x.place(0.0)) * if shown > 100 { 1.15 } else { 0.8 };
    let content = html! {
        (axes.draw(&[]))
        g class={ "run " (run_class(run)) } data-run=(run) {
            @for (difference, at) in differences.iter().zip(0_u32..) {
                @let [top, bottom] = [y.place(difference.max(0.0)), y.place(difference.min(0.0))];
                rect.bar x=(At(x.place(f64::from(at)))) width=(At(width.max(0.8))) y=(At(top))
                    height=(At((bottom - top).max(0.6))) {}
            }
        }
        line.axis x1=(At(LEFT)) x2=(At(RIGHT + 12.0)) y1=(At(y.place(0.0))) y2=(At(y.place(0.0))) {}
        // The script moves it to the chosen bar.
        rect.chosen x="0" width=(At(width.max(2.0))) y=(At(y.place(end)))
            height=(At(y.place(-end) - y.place(end))) visibility="hidden" {}
    };
    drawing(alternative, HEIGHT, &content)
}
