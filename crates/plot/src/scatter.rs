//! A panel of points whose distances matter, and not their places.

use plotters::prelude::*;

use crate::legend::{Entry, Key};
use crate::scale::Ruler;
use crate::style::{Area, chart, colour, mesh};
use crate::{PlotError, Scale};

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
        // The axes have no unit, so they have neither marks nor lines.
        let bare = |places: Vec<f64>| {
            let ruler = Ruler::new(Scale::Fitted, places.into_iter());
            let mut ruler = ruler.ok_or_else(|| PlotError::Empty { panel: title.to_owned() })?;
            ruler.labelled.clear();
            ruler.fine.clear();
            Ok::<_, PlotError>(ruler)
        };
        let x = bare(points().map(|point| point.0).collect())?;
        let y = bare(points().map(|point| point.1).collect())?;
        let mut chart = chart(area, title, x, y)?;
        mesh(&mut chart, "", "").draw()?;
        for (index, set) in self.sets.iter().enumerate() {
            let style = colour(index).mix(OPACITY).filled();
            chart.draw_series(set.points.iter().map(|&point| Circle::new(point, 3, style)))?;
        }
        Ok(())
    }
}
