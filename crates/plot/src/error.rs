//! What can go wrong with a figure.

use std::error::Error;

use plotters::drawing::DrawingAreaErrorKind;
use toller_ir::{Explain, Remedy, counted};

use crate::Scatter;

/// Why a figure cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlotError {
    /// A figure without panels.
    #[error("the figure {figure:?} has no panel")]
    NoPanel {
        /// Its title.
        figure: String,
    },
    /// A panel without anything to show.
    #[error("the panel {panel:?} has no finite point, or none above 0 for a logarithmic axis")]
    Empty {
        /// Its title.
        panel: String,
    },
    /// A part with more or fewer values than there are categories.
    #[error("the part {part:?} has {values} values for {categories} categories")]
    BarShape {
        /// The part's name.
        part: String,
        /// How many values it has.
        values: usize,
        /// How many categories there are.
        categories: usize,
    },
    /// A heat map whose number of values is not rows times columns.
    #[error("the panel {panel:?} has {values} values for {rows} x {columns} cells")]
    CellCount {
        /// The panel's title.
        panel: String,
        /// How many values it has.
        values: usize,
        /// How many rows there are.
        rows: usize,
        /// How many columns there are.
        columns: usize,
    },
    /// More sets of points than colours.
    #[error("the panel {panel:?} has {sets} sets of points, but there are {} colours", Scatter::MOST_SETS)]
    TooManySets {
        /// The panel's title.
        panel: String,
        /// How many sets there are.
        sets: usize,
    },
    /// A perplexity that the number of vectors does not allow.
    #[error("t-SNE with a perplexity of {perplexity} cannot place {}", counted(*points, "vector"))]
    Perplexity {
        /// The perplexity.
        perplexity: f32,
        /// How many vectors there are.
        points: usize,
    },
    /// Vectors without distances.
    #[error("a vector has a number that is not finite")]
    NotFinite,
    /// The drawing library failed.
    #[error("cannot draw the figure: {0}")]
    Draw(String),
}

impl Explain for PlotError {
    fn remedy(&self) -> Option<Remedy> {
        let hint = match self {
            Self::NoPanel { .. } | Self::Empty { .. } => {
                "measure at two or more sizes, so that there is a curve"
            }
            Self::TooManySets { .. } => "draw fewer sets in one panel",
            Self::Perplexity { .. } => "give more vectors, or a perplexity from 1 to a third of their number",
            Self::NotFinite => "encode again, and check the model's weights",
            Self::BarShape { .. } | Self::CellCount { .. } | Self::Draw(_) => return None,
        };
        Some(hint.into())
    }
}

impl<E: Error + Send + Sync> From<DrawingAreaErrorKind<E>> for PlotError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self::Draw(error.to_string())
    }
}
