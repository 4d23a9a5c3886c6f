//! A row for each thing: a dot with its interval, or a bar from the line of comparison.

use maud::{Markup, html};

use super::frame::{At, WIDTH, drawing, run_class};
use super::scale::{Scale, label, rounded};
use crate::page::Plain;

/// A row.
pub(crate) struct Row<'a> {
    /// The run that gives the colour.
    pub(crate) run: usize,
    pub(crate) name: &'a str,
    pub(crate) value: f64,
    /// The ends of the interval around the value.
    pub(crate) interval: Option<[f64; 2]>,
}

const ROW: f64 = 19.0;
const TOP: f64 = 6.0;
const BELOW: f64 = 24.0;
/// The number behind a row.
const NUMBER: f64 = 44.0;
/// The width of a letter of a name, and the most room for names.
const LETTER: f64 = 6.4;
const MOST_ROOM: f64 = 110.0;

/// The panel. With `line`, rows are bars from there; else dots with intervals.
pub(crate) fn rows(alternative: &str, rows: &[Row<'_>], line: Option<f64>) -> Markup {
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = (longest as f64 * LETTER + 12.0).min(MOST_ROOM);
    let right = WIDTH - NUMBER;
    let bottom = TOP + rows.len() as f64 * ROW;
    let ends = rows.iter().flat_map(|row| row.interval.into_iter().flatten().chain([row.value])).chain(line);
    let range = ends
        .filter(|end| end.is_finite())
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], end| [low.min(end), high.max(end)]);
    let range = if range[0] <= range[1] { range } else { [0.0, 1.0] };
    let x = Scale::linear(rounded(range), [left, right]);
    let ticks = x.ticks();
    let content = html! {
        g.axes {
            @for tick in &ticks {
                line.grid x1=(At(x.place(*tick))) x2=(At(x.place(*tick))) y1=(At(TOP)) y2=(At(bottom)) {}
                text x=(At(x.place(*tick))) y=(At(bottom + 15.0)) text-anchor="middle" { (label(*tick, &ticks)) }
            }
            @if let Some(line) = line {
                line.axis x1=(At(x.place(line))) x2=(At(x.place(line))) y1=(At(TOP)) y2=(At(bottom)) {}
            }
        }
        @for (row, at) in rows.iter().zip(0_u16..) {
            @let y = TOP + (f64::from(at) + 0.5) * ROW;
            g class={ "run " (run_class(row.run)) } data-run=(row.run) {
                text.letter x=(At(left - 8.0)) y=(At(y + 4.0)) text-anchor="end" { (Plain(row.name)) }
                @if row.value.is_finite() {
                    @match (line, row.interval) {
                        (Some(line), _) => {
                            @let [from, to] = [x.place(line.min(row.value)), x.place(line.max(row.value))];
                            rect.bar x=(At(from)) width=(At((to - from).max(1.0))) y=(At(y - 5.0)) height="10" {}
                        }
                        (None, interval) => {
                            @if let Some([low, high]) = interval {
                                path.line d={ "M" (At(x.place(low))) " " (At(y)) "H" (At(x.place(high))) } {}
                            }
                            circle.dot cx=(At(x.place(row.value))) cy=(At(y)) r="3.6" {}
                        }
                    }
                    text.value x=(At(right + 6.0)) y=(At(y + 4.0)) { (format!("{:.3}", row.value)) }
                }
            }
        }
    };
    drawing(alternative, bottom + BELOW, &content)
}
