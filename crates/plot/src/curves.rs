//! A panel of curves.

use plotters::prelude::*;

use crate::legend::{Entry, Key};
use crate::scale::Ruler;
use crate::style::{Area, chart, colour, mesh};
use crate::{Axis, PlotError};

/// Curves over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// What was varied.
    pub x: Axis,
    /// What was measured.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// Points (x, y), x ascending. Points that the axes cannot show are left out.
    pub points: Vec<(f64, f64)>,
    /// How it looks.
    pub style: Style,
}

/// How a curve looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line with a dot at each point.
    Measured,
    /// A line without dots, for points that are close together.
    Line,
    /// A dashed grey line: what the machine allows, or another figure to compare with.
    Bound,
    /// A dashed line, the bound of a measured curve and in its colour: the curve of this number among the
    /// measured ones, from 0.
    BoundOf(usize),
}

/// The shades of bounds without a curve of their own, in turn.
const GREYS: [u8; 3] = [120, 153, 187];

impl Curve {
    /// The points where they lie on the axes.
    fn placed<'a>(&'a self, curves: &'a Curves) -> impl Iterator<Item = (f64, f64)> + Clone + 'a {
        self.points.iter().filter_map(|&(x, y)| Some((curves.x.scale.place(x)?, curves.y.scale.place(y)?)))
    }
}

impl Curves {
    pub(crate) fn legend(&self) -> Vec<Entry> {
        let key = |curve: &Curve| match curve.style {
            Style::Measured | Style::Line => Key::Line,
            Style::Bound | Style::BoundOf(_) => Key::Dashes,
        };
        let entry =
            |(curve, colour): (&Curve, _)| Entry { name: curve.name.clone(), colour, key: key(curve) };
        self.curves.iter().zip(self.colours()).map(entry).collect()
    }

    /// Measured curves take the colours in turn; bounds take the colour of their curve or a shade of grey.
    fn colours(&self) -> Vec<RGBColor> {
        let (mut measured, mut bounds) = (0, 0);
        let colour = |curve: &Curve| match curve.style {
            Style::Measured | Style::Line => {
                measured += 1;
                colour(measured - 1)
            }
            Style::BoundOf(number) => colour(number),
            Style::Bound => {
                bounds += 1;
                let grey = GREYS[(bounds - 1) % GREYS.len()];
                RGBColor(grey, grey, grey)
            }
        };
        self.curves.iter().map(colour).collect()
    }

    pub(crate) fn draw(&self, area: &Area<'_>, title: &str) -> Result<(), PlotError> {
        let points = || self.curves.iter().flat_map(|curve| curve.placed(self));
        let empty = || PlotError::Empty { panel: title.to_owned() };
        let x = Ruler::at_data(self.x.scale, points().map(|(x, _)| x)).ok_or_else(empty)?;
        let y = Ruler::new(self.y.scale, points().map(|(_, y)| y)).ok_or_else(empty)?;
        let mut chart = chart(area, title, x, y)?;
        mesh(&mut chart, &self.x.label, &self.y.label).draw()?;
        for (curve, colour) in self.curves.iter().zip(self.colours()) {
            let points = curve.placed(self);
            match curve.style {
                Style::Bound | Style::BoundOf(_) => {
                    chart.draw_series(DashedLineSeries::new(points, 6, 4, colour.stroke_width(2)))?;
                }
                Style::Measured | Style::Line => {
                    chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
                    if curve.style == Style::Measured {
                        chart.draw_series(points.map(|point| Circle::new(point, 3, colour.filled())))?;
                    }
                }
            }
        }
        Ok(())
    }
}
