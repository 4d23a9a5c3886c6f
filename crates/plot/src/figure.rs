//! A figure: a title and panels in rows.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::style::{Area, GREY, INK, anchored};
use crate::{Bars, Curves, HeatMap, PlotError, Scatter, legend};

/// What every figure in SVG has near its beginning.
pub const DRAWN: &str = "<desc>Drawn by Toller</desc>";

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What is shown.
    pub title: String,
    /// The sizes and the machine: one smaller line.
    pub subtitle: String,
    /// From left to right, and from row to row where there are more than three.
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
/// The same for points, which need room. The diagram below the panel's title is square.
const SCATTER: (u32, u32) = (640, 664);
/// The most panels of a row: more would be too small to read on a page.
const MOST_ABREAST: usize = 3;
/// Pixels above the panels.
const HEADER: u32 = 58;
/// Pixels left of the title, and right of it at least.
const LEFT: u32 = 16;
/// The smallest size of a title that is long.
const SMALLEST: u32 = 8;

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
        let sizes = || self.panels.iter().map(Panel::size);
        let (panel, height) = sizes().reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))).unwrap_or(PANEL);
        let rows = self.panels.len().div_ceil(MOST_ABREAST);
        let columns = self.panels.len().div_ceil(rows);
        let width = panel * columns as u32;
        let mut svg = String::new();
        {
            let size = (width, HEADER + (height + legend_height) * rows as u32);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&WHITE)?;
            for (text, size, colour, y) in [(&self.title, 20, INK, 22), (&self.subtitle, 13, GREY, 44)] {
                let fitting = fitting(&root, text, size, width - 2 * LEFT)?;
                root.draw_text(text, &anchored(fitting, colour, HPos::Left), (LEFT as i32, y))?;
            }
            let (_, body) = root.split_vertically(HEADER);
            let areas = body.split_evenly((rows, columns));
            for ((panel, entries), area) in self.panels.iter().zip(&legends).zip(&areas) {
                let (diagram, below) = area.split_vertically(height);
                panel.draw(&diagram)?;
                legend::draw(&below, entries)?;
            }
            root.present()?;
        }
        // Marks the file as one that may be replaced.
        Ok(svg.replacen('>', &format!(">\n{DRAWN}"), 1))
    }
}

/// The size of a text, at most `size`, in which it is no wider than `width` pixels.
fn fitting(root: &Area<'_>, text: &str, size: u32, width: u32) -> Result<u32, PlotError> {
    let (wide, _) = root.estimate_text_size(text, &anchored(size, INK, HPos::Left))?;
    Ok((size * width / wide.max(1)).clamp(SMALLEST.min(size), size))
}

impl Panel {
    /// Pixels, legend aside.
    fn size(&self) -> (u32, u32) {
        match self.content {
            Content::Scatter(_) => SCATTER,
            _ => PANEL,
        }
    }

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

#[cfg(test)]
mod tests {
    use crate::{Bars, Figure, Panel, Part};

    #[test]
    fn more_than_three_panels_are_in_rows() {
        let bars = Bars {
            x_label: "words".to_owned(),
            y_label: "passages".to_owned(),
            categories: vec!["1".to_owned()],
            parts: vec![Part { name: "passages".to_owned(), values: vec![1.0] }],
        };
        let panel = |number: usize| Panel { title: format!("Panel {number}"), content: bars.clone().into() };
        let size = |panels: usize| {
            let panels = (0..panels).map(panel).collect();
            let figure = Figure { title: "Bars".to_owned(), subtitle: String::new(), panels };
            let svg = figure.to_svg().expect("it is drawn");
            let number = |name: &str| {
                let (_, rest) = svg.split_once(&format!("{name}=\"")).expect("it has a size");
                rest.split('"').next().and_then(|number| number.parse::<u32>().ok()).expect("a number")
            };
            (number("width"), number("height"))
        };
        let (one, three, four, five) = (size(1), size(3), size(4), size(5));
        assert_eq!([three.0, four.0, five.0].map(|width| width / one.0), [3, 2, 3]);
        assert!(
            three.1 == one.1 && four.1 > one.1 && five.1 == four.1,
            "{one:?} {three:?} {four:?} {five:?}"
        );
    }
}
