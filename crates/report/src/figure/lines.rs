//! Lines, one for each run, each with the run's letter at its end.

use maud::{Markup, html};

use super::frame::{At, Axes, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, drawing, path, run_class, vertical};
use super::scale::{Scale, rounded};

/// What the lines go over.
pub(crate) enum Axis<'a> {
    /// Cutoffs, on a logarithmic axis.
    Depths(&'a [usize]),
    /// Levels of recall from 0 to 1, with equal distances.
    Recall,
}

/// A run's line.
pub(crate) struct Line<'a> {
    pub(crate) run: usize,
    pub(crate) letter: &'a str,
    pub(crate) values: &'a [f64],
}

/// The least distance of letters, in the drawing's units.
const LETTER: f64 = 11.0;

/// Above this share of the highest value, an axis does not begin at zero.
const FAR: f64 = 0.4;

/// The panel.
pub(crate) fn lines(
    alternative: &str,
    [x_label, y_label]: [&str; 2],
    axis: &Axis<'_>,
    lines: &[Line<'_>],
) -> Markup {
    let (numbers, ticks): (Vec<f64>, Vec<usize>) = match axis {
        Axis::Depths(depths) => {
            let round = |depth: &usize| [1, 10, 100, 1000].contains(depth) || depths.len() < 6;
            (
                depths.iter().map(|depth| *depth as f64).collect(),
                depths.iter().copied().filter(round).collect(),
            )
        }
        Axis::Recall => ((0..=10).map(|tenths| f64::from(tenths) / 10.0).collect(), Vec::new()),
    };
    let ends = [numbers.first().copied().unwrap_or(1.0), numbers.last().copied().unwrap_or(1.0)];
    let x = match axis {
        Axis::Depths(_) => Scale::log(ends, [LEFT, RIGHT]),
        Axis::Recall => Scale::linear(ends, [LEFT, RIGHT]),
    };
    let values = || lines.iter().flat_map(|line| line.values).copied();
    let [low, high] = [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)];
    // From zero, unless all lines are far above it.
    let y = vertical(rounded([if low > FAR * high { low } else { low.min(0.0) }, high]));
    let axes = Axes { x: &x, y: &y, x_label, y_label };
    let last = |line: &Line<'_>| line.values.last().map_or(BOTTOM, |value| y.place(*value));
    let letters = apart(&lines.iter().map(last).collect::<Vec<_>>());
    let places = |values: &[f64]| -> Vec<(f64, f64)> {
        numbers.iter().zip(values).map(|(number, value)| (x.place(*number), y.place(*value))).collect()
    };
    let content = html! {
        @match axis {
            Axis::Depths(_) =>
                (axes.draw(&ticks.iter().map(|tick| (*tick as f64, tick.to_string())).collect::<Vec<_>>())),
            Axis::Recall => (axes.draw_linear()),
        }
        @for (line, place) in lines.iter().zip(letters) {
            g class={ "run " (run_class(line.run)) } data-run=(line.run) {
                path.line d=(path(places(line.values))) {}
                text.letter x=(At(RIGHT + 6.0)) y=(At(place + 4.0)) { (line.letter) }
            }
        }
    };
    drawing(alternative, HEIGHT, &content)
}

/// The places, moved as little as keeps them apart and in the drawing.
fn apart(places: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    let mut moved = places.to_vec();
    let mut floor = TOP - LETTER;
    for at in &order {
        moved[*at] = moved[*at].max(floor + LETTER);
        floor = moved[*at];
    }
    // What was pushed out below comes back up.
    let mut ceiling = BOTTOM + LETTER;
    for at in order.iter().rev() {
        moved[*at] = moved[*at].min(ceiling - LETTER);
        ceiling = moved[*at];
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::{BOTTOM, LETTER, apart};

    #[test]
    fn letters_do_not_overlap() {
        for places in [vec![50.0, 51.0, 49.0], vec![BOTTOM; 4], vec![12.0, 190.0], vec![]] {
            let mut moved = apart(&places);
            moved.sort_by(f64::total_cmp);
            assert!(moved.windows(2).all(|pair| pair[1] - pair[0] >= LETTER - 1e-9), "{moved:?}");
            assert!(moved.iter().all(|place| *place <= BOTTOM));
        }
        assert_eq!(apart(&[12.0, 190.0]), [12.0, 190.0]);
    }
}
