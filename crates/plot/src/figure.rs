//! A figure: a title and panels side by side.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::style::{Area, GREY, INK, anchored};
use crate::{Bars, Curves, HeatMap, PlotError, Scatter, legend};

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What is shown.
    pub title: String,
    /// The sizes and the machine: one smaller line.
    pub subtitle: String,
    /// From left to right.
    pub panels: Vec<Panel>,
}

/// One of the diagrams of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What is shown.
    pub title: String,
    /// The diagram.
    pub content: Content,
}

/// What a panel holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Curves over two axes.
    Curves(Curves),
    /// Stacked bars.
    Bars(Bars),
    /// Coloured cells.
    HeatMap(HeatMap),
    /// Points without axes.
    Scatter(Scatter),
}

impl From<Curves> for Content {
    fn from(curves: Curves) -> Self {
        Self::Curves(curves)
    }
}

impl From<Bars> for Content {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}

impl From<HeatMap> for Content {
    fn from(map: HeatMap) -> Self {
        Self::HeatMap(map)
    }
}

impl From<Scatter> for Content {
    fn from(scatter: Scatter) -> Self {
        Self::Scatter(scatter)
    }
}

/// Pixels of a panel, legend aside.
const PANEL: (u32, u32) = (440, 380);
/// Pixels above the panels.
const HEADER: u32 = 58;

impl Figure {
    /// The figure as an SVG document.
    ///
    /// # Errors
    /// [`PlotError::NoPanel`], and [`PlotError::Empty`], [`PlotError::BarShape`], [`PlotError::CellCount`] or
    /// [`PlotError::TooManySets`] for a panel that cannot be drawn.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        if self.panels.is_empty() {
            return Err(PlotError::NoPanel { figure: self.title.clone() });
        }
        let legends: Vec<_> = self.panels.iter().map(Panel::legend).collect();
        let legend_height = legends.iter().map(|entries| legend::height(entries.len())).max().unwrap_or(0);
        let width = PANEL.0 * self.panels.len() as u32;
        let mut svg = String::new();
        {
            let size = (width, HEADER + PANEL.1 + legend_height);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&WHITE)?;
            root.draw_text(&self.title, &anchored(20, INK, HPos::Left), (16, 22))?;
            root.draw_text(&self.subtitle, &anchored(13, GREY, HPos::Left), (16, 44))?;
            let (_, body) = root.split_vertically(HEADER);
            let areas = body.split_evenly((1, self.panels.len()));
            for ((panel, entries), area) in self.panels.iter().zip(&legends).zip(&areas) {
                let (diagram, below) = area.split_vertically(PANEL.1);
                panel.draw(&diagram)?;
                legend::draw(&below, entries)?;
            }
            root.present()?;
        }
        Ok(svg)
    }
}

impl Panel {
    fn legend(&self) -> Vec<legend::Entry> {
        match &self.content {
            Content::Curves(curves) => curves.legend(),
            Content::Bars(bars) => bars.legend(),
            Content::HeatMap(map) => map.legend(),
            Content::Scatter(scatter) => scatter.legend(),
        }
    }

    fn draw(&self, area: &Area<'_>) -> Result<(), PlotError> {
        match &self.content {
            Content::Curves(curves) => curves.draw(area, &self.title),
            Content::Bars(bars) => bars.draw(area, &self.title),
            Content::HeatMap(map) => map.draw(area, &self.title),
            Content::Scatter(scatter) => scatter.draw(area, &self.title),
        }
    }
}
