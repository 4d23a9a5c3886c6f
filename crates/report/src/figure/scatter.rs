//! One thing against another: a point for each query or group, or for as many as share a place.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::frame::{At, Axes, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, drawing, run_class, vertical};
use super::scale::{Scale, rounded};
use crate::page::Plain;

/// A point.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// What it is, for the pointer.
    pub(crate) name: String,
    /// Whether its name is written next to it.
    pub(crate) is_labelled: bool,
}

/// A panel.
pub(crate) struct Scatter<'a> {
    pub(crate) run: usize,
    pub(crate) labels: [&'a str; 2],
    pub(crate) points: &'a [Point],
    /// Where lines across and down mark a value.
    pub(crate) mark: Option<f64>,
}

/// More points than this are counted in cells.
pub(crate) const MOST_POINTS: usize = 300;

/// Cells along an axis.
const CELLS: f64 = 24.0;

/// The panel, with a line where both values are the same.
pub(crate) fn scatter(alternative: &str, of: &Scatter<'_>) -> Markup {
    let places = || of.points.iter().flat_map(|point| [point.x, point.y]).chain(of.mark);
    let values = || places().filter(|value| value.is_finite());
    let range = rounded([values().fold(0.0, f64::min), values().fold(f64::MIN_POSITIVE, f64::max)]);
    let side = [LEFT, RIGHT.min(LEFT + (BOTTOM - TOP) * 1.35)];
    let x = Scale::linear(range, side);
    let y = vertical(range);
    let axes = Axes { x: &x, y: &y, x_label: of.labels[0], y_label: of.labels[1] };
    let content = html! {
        (axes.draw_linear())
        line.same x1=(At(x.place(range[0]))) y1=(At(y.place(range[0]))) x2=(At(x.place(range[1])))
            y2=(At(y.place(range[1]))) {}
        @if let Some(mark) = of.mark {
            line.axis x1=(At(x.place(range[0]))) x2=(At(x.place(range[1]))) y1=(At(y.place(mark)))
                y2=(At(y.place(mark))) {}
            line.axis x1=(At(x.place(mark))) x2=(At(x.place(mark))) y1=(At(y.place(range[0])))
                y2=(At(y.place(range[1]))) {}
        }
        g class={ "run " (run_class(of.run)) } data-run=(of.run) {
            @if of.points.len() > MOST_POINTS {
                (cells(of.points, range, &x, &y))
            } @else {
                @for point in of.points.iter().filter(|point| point.x.is_finite() && point.y.is_finite()) {
                    circle.point cx=(At(x.place(point.x))) cy=(At(y.place(point.y))) r="3" {
                        title { (Plain(&point.name)) }
                    }
                    @if point.is_labelled {
                        text.value x=(At(x.place(point.x) + 5.0)) y=(At(y.place(point.y) - 4.0)) {
                            (Plain(&point.name))
                        }
                    }
                }
            }
        }
    };
    drawing(alternative, HEIGHT, &content)
}

/// Many points: a circle for each cell, its area in proportion to the number of points.
fn cells(points: &[Point], [low, high]: [f64; 2], x: &Scale, y: &Scale) -> Markup {
    let cell = |value: f64| ((value - low) / (high - low) * CELLS).floor().clamp(0.0, CELLS - 1.0) as u32;
    let mut counts: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for point in points {
        *counts.entry((cell(point.x), cell(point.y))).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(1) as f64;
    let centre = |cell: u32| low + (f64::from(cell) + 0.5) / CELLS * (high - low);
    html! {
        @for ((column, row), count) in counts {
            circle.point cx=(At(x.place(centre(column)))) cy=(At(y.place(centre(row))))
                r=(At((8.0 * (count as f64 / most).sqrt()).max(0.7))) { title { (count) " queries" } }
        }
    }
}
