//! A panel of points whose distances matter, and not their places.

use plotters::prelude::*;

use crate::PlotError;
use crate::legend::{Entry, Key};
use crate::style::{Area, caption, colour};

/// Sets of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// At most [`Scatter::MOST_SETS`], in the order of the legend.
    pub sets: Vec<PointSet>,
}

/// Points of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct PointSet {
    /// The name in the legend.
    pub name: String,
    /// The points (x, y).
    pub points: Vec<(f64, f64)>,
}

/// Dark enough for a single point, light enough for points on top of each other.
const OPACITY: f64 = 0.65;
/// Around the points, as a share of their width.
const MARGIN: f64 = 0.02;

impl Scatter {
    /// As many sets as there are colours.
    pub const MOST_SETS: usize = crate::style::COLOURS.len();

    pub(crate) fn legend(&self) -> Vec<Entry> {
        let entry = |(index, set): (usize, &PointSet)| Entry {
            name: set.name.clone(),
            colour: colour(index),
            key: Key::Dot,
        };
        self.sets.iter().enumerate().map(entry).collect()
    }

    pub(crate) fn draw(&self, area: &Area<'_>, title: &str) -> Result<(), PlotError> {
        if self.sets.len() > Self::MOST_SETS {
            return Err(PlotError::TooManySets { panel: title.to_owned(), sets: self.sets.len() });
        }
        let points = || self.sets.iter().flat_map(|set| &set.points);
        if points().any(|(x, y)| !(x.is_finite() && y.is_finite())) {
            return Err(PlotError::Empty { panel: title.to_owned() });
        }
        let empty = || PlotError::Empty { panel: title.to_owned() };
        let extremes = |places: &mut dyn Iterator<Item = f64>| {
            places.fold(None, |found: Option<(f64, f64)>, place| {
                Some(found.map_or((place, place), |(least, most)| (least.min(place), most.max(place))))
            })
        };
        let x = extremes(&mut points().map(|point| point.0)).ok_or_else(empty)?;
        let y = extremes(&mut points().map(|point| point.1)).ok_or_else(empty)?;
        // Both axes have one scale, since distances are what is shown. They have no unit, and no line.
        let span = (x.1 - x.0).max(y.1 - y.0).max(f64::MIN_POSITIVE) * (0.5 + MARGIN);
        let range = |(least, most): (f64, f64)| {
            let middle = least / 2.0 + most / 2.0;
            middle - span..middle + span
        };
        let mut builder = ChartBuilder::on(area);
        let mut chart = builder.caption(title, caption()).margin(8).build_cartesian_2d(range(x), range(y))?;
        for (index, set) in self.sets.iter().enumerate() {
            let style = colour(index).mix(OPACITY).filled();
            chart.draw_series(set.points.iter().map(|&point| Circle::new(point, 3, style)))?;
        }
        Ok(())
    }
}
