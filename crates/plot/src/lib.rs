//! Figures as SVG: panels of curves, stacked bars, heat maps or points next to each other, with axes, legends
//! and a title.
//!
//! ```
//! use toller_plot::{Axis, Curve, Curves, Figure, Panel, Style};
//!
//! # fn main() -> Result<(), toller_plot::PlotError> {
//! let points = vec![(1.0, 9.8), (256.0, 95.0)];
//! let measured = Curve { name: "f32".into(), points, style: Style::Measured };
//! let curves = Curves {
//!     x: Axis::log("queries of a batch"),
//!     y: Axis::log("milliseconds a search"),
//!     curves: vec![measured],
//! };
//! let panel = Panel { title: "Time against queries".into(), content: curves.into() };
//! let figure = Figure { title: "Search".into(), subtitle: "200,000 x 384".into(), panels: vec![panel] };
//! assert!(figure.to_svg()?.starts_with("<svg"));
//! # Ok(())
//! # }
//! ```

mod bars;
mod curves;
mod error;
mod figure;
mod heat_map;
mod legend;
mod neighbourhoods;
mod scale;
mod scatter;
mod style;

pub use bars::{Bars, Part};
pub use curves::{Curve, Curves, Style};
pub use error::PlotError;
pub use figure::{Content, DRAWN, Figure, Panel};
pub use heat_map::HeatMap;
pub use neighbourhoods::Tsne;
pub use scale::{Axis, Scale};
pub use scatter::{PointSet, Scatter};
