//! A panel of coloured cells: a number for each pair of settings.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::PlotError;
use crate::legend::{Entry, Key};
use crate::scale::Ruler;
use crate::style::{Area, INK, anchored, chart, colour, mesh};

/// A grid of numbers, the larger the darker.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// What the columns are.
    pub x_label: String,
    /// What the rows are.
    pub y_label: String,
    /// The name of each column.
    pub columns: Vec<String>,
    /// The name of each row, the lowest first.
    pub rows: Vec<String>,
    /// The numbers, `[rows, columns]`.
    pub values: Vec<f64>,
    /// The cell that is framed, as row and column.
    pub marked: Option<(usize, usize)>,
}

/// Colours of the smallest and of the largest number. They have one hue, so that they differ in print too.
const LIGHT: RGBColor = RGBColor(236, 243, 248);
const DARK: RGBColor = RGBColor(0, 58, 99);

/// From this share of the way to the darkest colour on, numbers in cells are white.
const WHITE_FROM: f64 = 0.5;

/// Cells with more columns than this are too narrow for a number of four digits.
const MOST_COLUMNS_WITH_NUMBERS: usize = 16;

impl HeatMap {
    pub(crate) fn legend(&self) -> Vec<Entry> {
        let Some((low, high)) = self.range() else { return Vec::new() };
        let entry = |name: String, colour, key| Entry { name, colour, key };
        let mut entries = vec![
            entry(format!("{low:.4}, the lowest"), LIGHT, Key::Box),
            entry(format!("{high:.4}, the highest"), DARK, Key::Box),
        ];
        if let Some((row, column)) = self.marked
            && let (Some(row_name), Some(column_name)) = (self.rows.get(row), self.columns.get(column))
        {
            let place = format!("{} {column_name}, {} {row_name}", self.x_label, self.y_label);
            entries.push(entry(place, colour(MARK), Key::Frame));
        }
        entries
    }

    /// The smallest and the largest number.
    fn range(&self) -> Option<(f64, f64)> {
        let finite = || self.values.iter().copied().filter(|value| value.is_finite());
        Some((finite().reduce(f64::min)?, finite().reduce(f64::max)?))
    }

    pub(crate) fn draw(&self, area: &Area<'_>, title: &str) -> Result<(), PlotError> {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        if self.values.len() != rows * columns {
            return Err(PlotError::CellCount {
                panel: title.to_owned(),
                values: self.values.len(),
                rows,
                columns,
            });
        }
        let (low, high) = self.range().ok_or_else(|| PlotError::Empty { panel: title.to_owned() })?;
        let [x, y] = [&self.columns, &self.rows].map(|names| Ruler::categories(names, 1));
        let mut chart = chart(area, title, x, y)?;
        mesh(&mut chart, &self.x_label, &self.y_label).disable_mesh().draw()?;
        for (at, value) in self.values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let (x, y) = ((at % columns) as f64, (at / columns) as f64);
            let share = if high > low { (value - low) / (high - low) } else { 1.0 };
            let corners = [(x, y), (x + 1.0, y + 1.0)];
            chart.draw_series([Rectangle::new(corners, between(share).filled())])?;
            if columns <= MOST_COLUMNS_WITH_NUMBERS {
                let ink = if share >= WHITE_FROM { WHITE } else { INK };
                // Without a leading zero, for room.
                let number = format!("{value:.3}");
                let number = number.strip_prefix('0').unwrap_or(&number).to_owned();
                chart.draw_series([Text::new(number, (x + 0.5, y + 0.5), anchored(9, ink, HPos::Center))])?;
            }
        }
        if let Some((row, column)) = self.marked {
            let (x, y) = (column as f64, row as f64);
            chart
                .draw_series([Rectangle::new([(x, y), (x + 1.0, y + 1.0)], colour(MARK).stroke_width(3))])?;
        }
        Ok(())
    }
}

/// The colour of the frame: the orange of the others.
const MARK: usize = 1;

/// The colour at a share of the way from the smallest number to the largest.
fn between(share: f64) -> RGBColor {
    let mix =
        |light: u8, dark: u8| (f64::from(light) + share * (f64::from(dark) - f64::from(light))).round() as u8;
    RGBColor(mix(LIGHT.0, DARK.0), mix(LIGHT.1, DARK.1), mix(LIGHT.2, DARK.2))
}
