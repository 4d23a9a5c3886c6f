//! Colours, type and grid, the same in every figure.

use plotters::chart::MeshStyle;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::PlotError;
use crate::scale::Ruler;

/// Where figures are drawn.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Text, axes.
pub(crate) const INK: RGBColor = RGBColor(40, 40, 40);
/// Secondary text.
pub(crate) const GREY: RGBColor = RGBColor(110, 110, 110);
/// Lines of the grid, at labels and between.
const GRID: RGBColor = RGBColor(218, 218, 218);
const FINE_GRID: RGBColor = RGBColor(240, 240, 240);

/// Okabe and Ito's colours (2008), which the colour-blind can distinguish, without the yellow, which is too
/// pale for a line on white.
pub(crate) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
];

/// The colour of the `index`-th thing of a panel; they repeat after seven.
pub(crate) fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// Text of a size in pixels.
fn text(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&colour)
}

/// Text that ends (`HPos::Right`), starts or is centred at its place, level with it.
pub(crate) fn anchored(size: u32, colour: RGBColor, horizontal: HPos) -> TextStyle<'static> {
    text(size, colour).pos(Pos::new(horizontal, VPos::Center))
}

/// The title of a panel.
pub(crate) fn caption() -> TextStyle<'static> {
    text(15, INK)
}

/// The axes of a panel, ready to draw on.
pub(crate) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ruler, Ruler>>;

/// Pixels around a diagram, and left of it for the labels of its axis.
const MARGIN: u32 = 8;
const Y_LABELS: u32 = 58;
/// Pixels of a panel's width that are not its diagram's.
pub(crate) const BESIDE_PLOT: u32 = 2 * MARGIN + Y_LABELS;

/// A panel's diagram below its title.
pub(crate) fn chart<'a, 'b>(
    area: &'a Area<'b>,
    title: &str,
    x: Ruler,
    y: Ruler,
) -> Result<Chart<'a, 'b>, PlotError> {
    let mut builder = ChartBuilder::on(area);
    builder.caption(title, caption()).margin(MARGIN).x_label_area_size(42).y_label_area_size(Y_LABELS);
    Ok(builder.build_cartesian_2d(x, y)?)
}

/// The grid and the labels of both axes.
pub(crate) fn mesh<'a, 'b, 'c>(
    chart: &'c mut Chart<'a, 'b>,
    x_label: &str,
    y_label: &str,
) -> MeshStyle<'a, 'c, Ruler, Ruler, SVGBackend<'b>> {
    let mut mesh = chart.configure_mesh();
    mesh.bold_line_style(GRID)
        .light_line_style(FINE_GRID)
        .axis_style(INK)
        .label_style(text(12, INK))
        .axis_desc_style(text(13, INK))
        .x_desc(x_label)
        .y_desc(y_label);
    mesh
}
