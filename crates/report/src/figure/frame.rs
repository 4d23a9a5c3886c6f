//! The frame of a figure: the drawing, its axes, grid and labels.

use maud::{Markup, Render, html};

use super::scale::{Scale, label};
use crate::page::Plain;

/// The size of a drawing's usual panel, in its own units; the style sheet says how large it is on the page.
pub(super) const WIDTH: f64 = 340.0;
pub(super) const HEIGHT: f64 = 230.0;

/// Where the axes of a usual panel begin and end.
pub(super) const LEFT: f64 = 42.0;
pub(super) const RIGHT: f64 = WIDTH - 22.0;
pub(super) const TOP: f64 = 12.0;
pub(super) const BOTTOM: f64 = HEIGHT - 40.0;

/// How many colours there are for runs.
const COLOURS: usize = 8;

/// A coordinate, or a size, with a tenth of a unit.
#[derive(Clone, Copy)]
pub(super) struct At(pub(super) f64);

impl Render for At {
    fn render_to(&self, buffer: &mut String) {
        let tenths = format!("{:.1}", self.0);
        buffer.push_str(tenths.strip_suffix(".0").unwrap_or(&tenths));
    }
}

/// The classes of what belongs to a run: the baseline is neutral, the others take the colours in turn, and
/// dashes when these are used up.
pub(crate) fn run_class(run: usize) -> String {
    match run.checked_sub(1) {
        None => "base".to_owned(),
        Some(index) if index < COLOURS => format!("s{index}"),
        Some(index) => format!("s{} dashed", index % COLOURS),
    }
}

/// A drawing with a text alternative.
pub(super) fn drawing(alternative: &str, height: f64, content: &Markup) -> Markup {
    html! {
        svg viewBox={ "0 0 " (At(WIDTH)) " " (At(height)) } role="img" aria-label=(Plain(alternative)) {
            (content)
        }
    }
}

/// Both axes of a usual panel.
pub(super) struct Axes<'a> {
    pub(super) x: &'a Scale,
    pub(super) y: &'a Scale,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
}

impl Axes<'_> {
    /// The grid and the labels. The labels of x are at `x_ticks`.
    pub(super) fn draw(&self, x_ticks: &[(f64, String)]) -> Markup {
        let y_ticks = self.y.ticks();
        let right = self.x.end();
        let below = if x_ticks.is_empty() { BOTTOM + 15.0 } else { HEIGHT - 6.0 };
        html! {
            g.axes {
                @for tick in &y_ticks {
                    line.grid x1=(At(LEFT)) x2=(At(right)) y1=(At(self.y.place(*tick))) y2=(At(self.y.place(*tick))) {}
                    text x=(At(LEFT - 6.0)) y=(At(self.y.place(*tick) + 3.5)) text-anchor="end" {
                        (label(*tick, &y_ticks))
                    }
                }
                @for (tick, name) in x_ticks {
                    line.tick x1=(At(self.x.place(*tick))) x2=(At(self.x.place(*tick))) y1=(At(BOTTOM))
                        y2=(At(BOTTOM + 4.0)) {}
                    text x=(At(self.x.place(*tick))) y=(At(BOTTOM + 15.0)) text-anchor="middle" { (name) }
                }
                // An axis without marks is drawn by those who know where its zero is.
                @if !x_ticks.is_empty() { line.axis x1=(At(LEFT)) x2=(At(right)) y1=(At(BOTTOM)) y2=(At(BOTTOM)) {} }
                text.name x=(At((LEFT + right) / 2.0)) y=(At(below)) text-anchor="middle" { (Plain(self.x_label)) }
                text.name x="11" y=(At((TOP + BOTTOM) / 2.0)) text-anchor="middle"
                    transform={ "rotate(-90 11 " (At((TOP + BOTTOM) / 2.0)) ")" } { (Plain(self.y_label)) }
            }
        }
    }

    /// As [`Axes::draw`], with the labels of x where its scale has them.
    pub(super) fn draw_linear(&self) -> Markup {
        let ticks = self.x.ticks();
        self.draw(&ticks.iter().map(|tick| (*tick, label(*tick, &ticks))).collect::<Vec<_>>())
    }
}

/// The vertical axis of a usual panel.
pub(super) fn vertical(range: [f64; 2]) -> Scale {
    Scale::linear(range, [BOTTOM, TOP])
}

/// A path through points.
pub(super) fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        path.push(if path.is_empty() { 'M' } else { 'L' });
        At(x).render_to(&mut path);
        path.push(' ');
        At(y).render_to(&mut path);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::{path, run_class};

    #[test]
    fn runs_have_colours_and_then_dashes() {
        assert_eq!([0, 1, 8, 9].map(run_class), ["base", "s0", "s7", "s0 dashed"]);
    }

    #[test]
    fn paths_are_short() {
        assert_eq!(path([(0.0, 1.25), (10.04, 2.0)]), "M0 1.2L10 2");
        assert_eq!(path([]), "");
    }
}
