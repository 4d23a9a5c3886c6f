//! The histogram of first relevant ranks, with the line of the share among those found.

use maud::{Markup, html};

use super::frame::{At, Axes, BOTTOM, HEIGHT, LEFT, RIGHT, drawing, path, run_class, vertical};
use super::scale::Scale;

/// A run's histogram.
pub(crate) struct Histogram<'a> {
    pub(crate) run: usize,
    /// The share of all queries in each bin.
    pub(crate) shares: &'a [f64],
    /// The share of queries in no bin.
    pub(crate) none: f64,
    /// The last rank of each bin.
    pub(crate) ends: &'a [usize],
}

/// The panel. The bar on the right is of the queries in no bin.
pub(crate) fn histogram(alternative: &str, of: &Histogram<'_>) -> Markup {
    let bins = of.shares.len();
    // A gap of half a bin, and the bar of what was not found.
    let x = Scale::linear([0.0, bins as f64 + 1.5], [LEFT, RIGHT + 12.0]);
    let y = vertical([0.0, 1.0]);
    let found: f64 = of.shares.iter().sum();
    let axes =
        Axes { x: &x, y: &y, x_label: "rank of the first relevant document", y_label: "share of queries" };
    let mut ticks: Vec<(f64, String)> = of
        .ends
        .iter()
        .zip(0_u16..)
        .step_by(3)
        .map(|(end, bin)| (f64::from(bin) + 0.5, format!("\u{2264}{end}")))
        .collect();
    ticks.push((bins as f64 + 1.0, "none".to_owned()));
    let bar = |from: f64, share: f64, class: &str| {
        let (left, right) = (x.place(from + 0.1), x.place(from + 0.9));
        html! {
            rect class=(class) x=(At(left)) width=(At(right - left)) y=(At(y.place(share)))
                height=(At(BOTTOM - y.place(share))) {}
        }
    };
    let content = html! {
        (axes.draw(&ticks))
        g class={ "run " (run_class(of.run)) } data-run=(of.run) {
            @for (share, bin) in of.shares.iter().zip(0_u16..) {
                (bar(f64::from(bin), *share, "bar"))
            }
            (bar(bins as f64 + 0.5, of.none, "bar hollow"))
        }
        @if found > 0.0 {
            path.found d=(path(of.shares.iter().zip(0_u16..).map(|(share, bin)| {
                (x.place(f64::from(bin) + 0.5), y.place(share / found))
            }))) {}
        }
    };
    drawing(alternative, HEIGHT, &content)
}
