//! How far runs are apart on each query: a line from the lowest value to the highest, and the mean.

use maud::{Markup, html};

use super::frame::{At, Axes, HEIGHT, LEFT, RIGHT, drawing, path, vertical};
use super::scale::{Scale, rounded};
use crate::data::QueryDifficulty;

/// The panel; the queries are in the order of their means. `all` is the number of queries; not all are drawn.
pub(crate) fn spread(alternative: &str, y_label: &str, queries: &[&QueryDifficulty], all: usize) -> Markup {
    let highest = queries.iter().map(|query| query.high).fold(0.0, f64::max);
    let lowest = queries.iter().map(|query| query.low).fold(0.0, f64::min);
    let x = Scale::linear([0.0, queries.len().max(1) as f64], [LEFT, RIGHT + 12.0]);
    let y = vertical(rounded([lowest, highest]));
    let shown = queries.len();
    let x_label = if shown == all {
        format!("{all} queries, the hardest first")
    } else {
        format!("{shown} of {all} queries, the hardest first")
    };
    let axes = Axes { x: &x, y: &y, x_label: &x_label, y_label };
    let ranges = queries.iter().zip(0_u32..).map(|(query, at)| {
        let x = x.place(f64::from(at) + 0.5);
        path([(x, y.place(query.low)), (x, y.place(query.high))])
    });
    let means =
        queries.iter().zip(0_u32..).map(|(query, at)| (x.place(f64::from(at) + 0.5), y.place(query.mean)));
    let content = html! {
        (axes.draw(&[]))
        path.range d=(ranges.collect::<String>()) stroke-width=(At((x.place(0.6) - x.place(0.0)).clamp(0.5, 6.0))) {}
        line.axis x1=(At(LEFT)) x2=(At(RIGHT + 12.0)) y1=(At(y.place(0.0))) y2=(At(y.place(0.0))) {}
        path.mean d=(path(means)) {}
    };
    drawing(alternative, HEIGHT, &content)
}
