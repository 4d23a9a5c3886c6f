//! The legend below a panel.

use plotters::element::{Circle, PathElement, Rectangle};
use plotters::style::text_anchor::HPos;
use plotters::style::{Color, RGBColor};

use crate::PlotError;
use crate::style::{Area, INK, anchored};

/// The sign of an entry, next to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Line,
    Dashes,
    Box,
    Dot,
    Frame,
}

/// A name and its sign.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) colour: RGBColor,
    pub(crate) key: Key,
}

const COLUMNS: usize = 2;
const LINE_HEIGHT: u32 = 18;
const KEY_WIDTH: i32 = 24;
const LEFT: i32 = 64;

/// The height of a legend with this many entries.
pub(crate) fn height(entries: usize) -> u32 {
    entries.div_ceil(COLUMNS) as u32 * LINE_HEIGHT + 8
}

/// Draws the entries, column by column.
pub(crate) fn draw(area: &Area<'_>, entries: &[Entry]) -> Result<(), PlotError> {
    let lines = entries.len().div_ceil(COLUMNS).max(1);
    let column_width = (area.dim_in_pixel().0 as i32 - LEFT) / COLUMNS as i32;
    for (index, entry) in entries.iter().enumerate() {
        let x = LEFT + (index / lines) as i32 * column_width;
        let y = (index % lines) as i32 * LINE_HEIGHT as i32 + LINE_HEIGHT as i32 / 2;
        let dash =
            |from: i32, to: i32| PathElement::new([(x + from, y), (x + to, y)], entry.colour.stroke_width(2));
        match entry.key {
            Key::Line => area.draw(&dash(0, KEY_WIDTH))?,
            Key::Dashes => [0, 9, 18].into_iter().try_for_each(|at| area.draw(&dash(at, at + 6)))?,
            Key::Dot => area.draw(&Circle::new((x + KEY_WIDTH / 2, y), 4, entry.colour.filled()))?,
            Key::Box | Key::Frame => {
                let corners = [(x + 6, y - 6), (x + KEY_WIDTH - 6, y + 6)];
                let is_frame = entry.key == Key::Frame;
                let style = if is_frame { entry.colour.stroke_width(3) } else { entry.colour.filled() };
                area.draw(&Rectangle::new(corners, style))?;
            }
        }
        area.draw_text(&entry.name, &anchored(12, INK, HPos::Left), (x + KEY_WIDTH + 6, y))?;
    }
    Ok(())
}
