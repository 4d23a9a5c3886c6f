//! A panel of stacked bars: what a whole is made of.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::legend::{Entry, Key};
use crate::scale::{Ruler, short};
use crate::style::{Area, BESIDE_PLOT, INK, anchored, chart, colour, mesh};
use crate::{PlotError, Scale};

/// Stacked bars, one for each category.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What the categories are.
    pub x_label: String,
    /// What is stacked, with the unit.
    pub y_label: String,
    /// The name of each bar.
    pub categories: Vec<String>,
    /// The parts of every bar, the lowest first.
    pub parts: Vec<Part>,
}

/// A part of every bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name in the legend.
    pub name: String,
    /// The height in each bar, at least 0: `[categories]`.
    pub values: Vec<f64>,
}

/// The width of a bar, as a share of its category's.
const BAR_WIDTH: f64 = 0.6;

/// A part of less than this share of the tallest bar is too low for a number in it.
const LOWEST_WITH_NUMBER: f64 = 0.05;

/// Pixels between two names of bars.
const NAME_GAP: u32 = 6;

impl Bars {
    pub(crate) fn legend(&self) -> Vec<Entry> {
        let entry = |(index, part): (usize, &Part)| Entry {
            name: part.name.clone(),
            colour: colour(index),
            key: Key::Box,
        };
        // The axis says what a single part is.
        let stacked = if self.parts.len() > 1 { &self.parts[..] } else { &[] };
        // In the order of the stack: the uppermost first.
        stacked.iter().enumerate().map(entry).rev().collect()
    }

    pub(crate) fn draw(&self, area: &Area<'_>, title: &str) -> Result<(), PlotError> {
        let categories = self.categories.len();
        for part in &self.parts {
            if part.values.len() != categories {
                let values = part.values.len();
                return Err(PlotError::BarShape { part: part.name.clone(), values, categories });
            }
        }
        let empty = || PlotError::Empty { panel: title.to_owned() };
        let height = |category: usize| self.parts.iter().map(|part| part.values[category]).sum::<f64>();
        let heights = (0..categories).map(height);
        if heights.clone().any(|height| !height.is_finite()) {
            return Err(empty());
        }
        let y = Ruler::new(Scale::Linear, heights).ok_or_else(empty)?;
        let top_of_panel = y.range.end;
        let mut chart = chart(area, title, self.x_ruler(area)?, y)?;
        let bar_pixels = BAR_WIDTH * f64::from(chart.plotting_area().dim_in_pixel().0) / categories as f64;
        mesh(&mut chart, &self.x_label, &self.y_label).disable_x_mesh().draw()?;
        for category in 0..categories {
            let mut bottom = 0.0;
            let (left, right) = (0.5 - BAR_WIDTH / 2.0, 0.5 + BAR_WIDTH / 2.0);
            for (index, part) in self.parts.iter().enumerate() {
                let top = bottom + part.values[category];
                let x = category as f64;
                let corners = [(x + left, bottom), (x + right, top)];
                chart.draw_series([Rectangle::new(corners, colour(index).filled())])?;
                if top - bottom >= LOWEST_WITH_NUMBER * top_of_panel {
                    let number = short(top - bottom);
                    let style = anchored(12, WHITE, HPos::Center);
                    let (wide, _) = area.estimate_text_size(&number, &style)?;
                    let place = (x + 0.5, (bottom + top) / 2.0);
                    // White on white is not seen.
                    if f64::from(wide) <= bar_pixels {
                        chart.draw_series([Text::new(number, place, style)])?;
                    }
                }
                bottom = top;
            }
        }
        Ok(())
    }

    /// The axis of the categories. If their names are too wide to stand side by side, some are left out.
    fn x_ruler(&self, area: &Area<'_>) -> Result<Ruler, PlotError> {
        let mut widest = 0;
        for name in &self.categories {
            let (wide, _) = area.estimate_text_size(name, &anchored(12, INK, HPos::Center))?;
            widest = widest.max(wide + NAME_GAP);
        }
        let all = widest as usize * self.categories.len();
        let room = area.dim_in_pixel().0.saturating_sub(BESIDE_PLOT).max(1) as usize;
        Ok(Ruler::categories(&self.categories, all.div_ceil(room).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bars, Figure, Panel, Part};

    fn svg(categories: usize, height: f64) -> String {
        let bars = Bars {
            x_label: "words".to_owned(),
            y_label: "passages".to_owned(),
            categories: (0..categories).map(|bin| format!("{}-{}", 100 * bin, 100 * bin + 99)).collect(),
            parts: vec![Part { name: "passages".to_owned(), values: vec![height; categories] }],
        };
        let panels = vec![Panel { title: "Lengths".to_owned(), content: bars.into() }];
        Figure { title: "Bars".to_owned(), subtitle: String::new(), panels }.to_svg().expect("it is drawn")
    }

    #[test]
    fn names_and_numbers_that_have_no_room_are_left_out() {
        let few = svg(3, 1240.0);
        assert!(few.contains("100-199") && few.contains("200-299"), "{few}");
        assert_eq!(few.matches("\n1,240\n").count(), 3, "{few}");
        let many = svg(16, 1240.0);
        assert!(many.contains("0-99") && !many.contains("100-199"), "{many}");
        assert_eq!(many.matches("\n1,240\n").count(), 0, "{many}");
    }
}
