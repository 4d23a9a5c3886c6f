//! Figures as SVG inside a page. Colours and type come from the page's style sheet, so that a figure follows
//! the page into the dark, onto paper and onto a narrow screen. (A drawing library writes colours and sizes
//! into the file.)

mod bars;
mod frame;
mod histogram;
mod lines;
mod rows;
mod scale;
mod scatter;
mod spread;

pub(crate) use bars::sorted_bars;
pub(crate) use frame::run_class;
pub(crate) use histogram::{Histogram, histogram};
pub(crate) use lines::{Axis, Line, lines};
pub(crate) use rows::{Row, rows};
pub(crate) use scatter::{MOST_POINTS, Point, Scatter, scatter};
pub(crate) use spread::spread;
