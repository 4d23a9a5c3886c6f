//! Axes: their labels, and how they map numbers.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;

/// How an axis maps numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// In proportion, from zero.
    Linear,
    /// In proportion, over the range of the data.
    Fitted,
    /// By orders of magnitude; numbers that are not above zero are left out.
    Log,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How it maps numbers.
    pub scale: Scale,
}

impl Axis {
    /// A linear axis from zero.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// A linear axis over the range of the data, for differences that are small against the numbers.
    #[must_use]
    pub fn fitted(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Fitted }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }
}

/// An axis with its range and marks, all in the scale's own coordinate: the number itself, or its logarithm
/// to base ten.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ruler {
    pub(crate) range: Range<f64>,
    /// Lines with a label.
    pub(crate) labelled: Vec<f64>,
    /// Lines between them.
    pub(crate) fine: Vec<f64>,
    names: Names,
}

/// What the labels of a ruler say.
#[derive(Clone, Debug, PartialEq)]
enum Names {
    /// The place.
    Numbers,
    /// The place, with this many decimals.
    Decimals(usize),
    /// Ten to the power of the place.
    Powers,
    /// The category whose unit of length the place is in.
    Categories(Vec<String>),
}

/// The approximate number of labels of an axis.
const LABELS: f64 = 6.0;

/// Room around the points, as a share of the range.
const MARGIN: f64 = 0.06;

/// Two labels on an axis are at least this share of it apart.
const LABEL_GAP: f64 = 0.09;

impl Scale {
    /// The place of a number; `None` if the axis cannot show it.
    pub(crate) fn place(self, value: f64) -> Option<f64> {
        let place = match self {
            Self::Linear | Self::Fitted => value,
            Self::Log if value > 0.0 => value.log10(),
            Self::Log => return None,
        };
        place.is_finite().then_some(place)
    }
}

impl Ruler {
    /// A ruler for all of these places; `None` if there are none.
    pub(crate) fn new(scale: Scale, places: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let (low, high) = (places.clone().reduce(f64::min)?, places.reduce(f64::max)?);
        Some(match scale {
            Scale::Linear => Self::linear(low.min(0.0), high),
            Scale::Fitted => Self::fitted(low, high),
            Scale::Log => Self::log(low, high),
        })
    }

    /// The same, with labels at the places themselves if they are few and far apart: readers look for the
    /// measured sizes.
    pub(crate) fn at_data(scale: Scale, places: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let mut ruler = Self::new(scale, places.clone())?;
        let mut own: Vec<f64> = places.collect();
        own.sort_by(f64::total_cmp);
        own.dedup();
        let gap = LABEL_GAP * (ruler.range.end - ruler.range.start);
        if own.len() > 1 && own.windows(2).all(|pair| pair[1] - pair[0] >= gap) {
            if let Names::Decimals(decimals) = &mut ruler.names {
                *decimals = decimals_of(&own).max(*decimals);
            }
            ruler.labelled = own;
        }
        Some(ruler)
    }

    /// A ruler on which each category has the length 1, and one in `every` has a label.
    pub(crate) fn categories(names: &[String], every: usize) -> Self {
        let centres = (0..names.len()).step_by(every).map(|category| category as f64 + 0.5).collect();
        Self {
            range: 0.0..names.len() as f64,
            labelled: centres,
            fine: Vec::new(),
            names: Names::Categories(names.to_vec()),
        }
    }

    fn linear(low: f64, high: f64) -> Self {
        let width = if high > low { high - low } else { 1.0 };
        let step = nice_step(width / LABELS);
        let marks = |step: f64| -> Vec<f64> {
            let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
            (first..=last).map(|index| index as f64 * step).collect()
        };
        let bottom = if low < 0.0 { low - MARGIN * width } else { 0.0 };
        let range = bottom..low + width * (1.0 + MARGIN);
        let within = |marks: Vec<f64>| marks.into_iter().filter(|mark| range.contains(mark)).collect();
        Self {
            labelled: within(marks(step)),
            fine: within(marks(step / 5.0)),
            range: range.clone(),
            names: Names::Numbers,
        }
    }

    fn fitted(low: f64, high: f64) -> Self {
        // Of equal numbers, a tenth around them.
        let width = if high > low { high - low } else { 0.1 * high.abs().max(1e-3) };
        let step = nice_step(width / LABELS);
        let range = low - MARGIN * width..high.max(low + width / 2.0) + MARGIN * width;
        let marks = |step: f64| -> Vec<f64> {
            let (first, last) = ((range.start / step).ceil() as i64, (range.end / step).floor() as i64);
            (first..=last).map(|index| index as f64 * step).filter(|mark| range.contains(mark)).collect()
        };
        // A power of ten may come out a little too low.
        let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
        Self {
            labelled: marks(step),
            fine: marks(step / 5.0),
            names: Names::Decimals(decimals),
            range: range.clone(),
        }
    }

    fn log(low: f64, high: f64) -> Self {
        // At least a third of an order of magnitude, so that noise does not fill a panel.
        let margin = (MARGIN * (high - low)).max((0.33 - (high - low)) / 2.0).max(0.02);
        let range = low - margin..high + margin;
        let decades = range.start.floor() as i32..=range.end.ceil() as i32;
        let marks = |digits: &[u32]| -> Vec<f64> {
            let marks = decades.clone().flat_map(|decade| {
                digits.iter().map(move |&digit| f64::from(decade) + f64::from(digit).log10())
            });
            marks.filter(|mark| range.contains(mark)).collect()
        };
        let fine = marks(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let candidates = [&[1][..], &[1, 3], &[1, 2, 5], &[1, 2, 3, 4, 5, 6, 7, 8, 9]];
        // The coarsest marks that are at least three.
        let labelled = candidates.into_iter().map(marks).find(|marks| marks.len() >= 3);
        Self {
            labelled: labelled.unwrap_or_else(|| fine.clone()),
            fine,
            range: range.clone(),
            names: Names::Powers,
        }
    }
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, pixels: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.range.clone()).map(place, pixels)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { self.fine.clone() } else { self.labelled.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, &place: &f64) -> String {
        match &self.names {
            Names::Numbers => short(place),
            // Never "-0.00".
            Names::Decimals(decimals) => format!("{:.decimals$}", if place == 0.0 { 0.0 } else { place }),
            Names::Powers => short(10_f64.powf(place)),
            Names::Categories(names) => names.get(place as usize).cloned().unwrap_or_default(),
        }
    }
}

/// How many decimals the numbers need, in three significant digits.
fn decimals_of(numbers: &[f64]) -> usize {
    let needed =
        |number: &f64| significant(*number).split_once('.').map_or(0, |(_, decimals)| decimals.len());
    numbers.iter().map(needed).max().unwrap_or_default()
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|digit| digit * power).find(|&nice| nice >= step).unwrap_or(10.0 * power)
}

/// A number with three significant digits, without trailing zeros.
fn significant(value: f64) -> String {
    let power = 10_f64.powf(2.0 - value.abs().log10().floor());
    if value == 0.0 { "0".to_owned() } else { format!("{}", (value * power).round() / power) }
}

/// A number in few characters: 1.5e-5, 0.5, 32, 1,024, 200k, 2M.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 9_999_500_000.0 => format!("{value:.0e}"),
        size if size >= 999_500.0 => format!("{}M", significant(value / 1e6)),
        size if size >= 9_999.5 => format!("{}k", significant(value / 1e3)),
        size if size >= 999.5 => {
            let whole = value.round() as i64;
            format!("{},{:03}", whole / 1000, (whole % 1000).abs())
        }
        size if size > 0.0 && size < 0.001 => {
            let exponent = size.log10().floor();
            format!("{}e{exponent}", significant(value / 10_f64.powf(exponent)))
        }
        _ => significant(value),
    }
}

#[cfg(test)]
mod tests {
    use plotters::coord::ranged1d::ValueFormatter;

    use super::{Ruler, Scale, short};

    #[test]
    fn numbers_are_short() {
        for (value, label) in [
            (0.0, "0"),
            (0.000015, "1.5e-5"),
            (0.001, "0.001"),
            (0.05, "0.05"),
            (0.30000000000000004, "0.3"),
            (7.0, "7"),
            (99.96, "100"),
            (384.0, "384"),
            (1000.0, "1,000"),
            (1024.0, "1,024"),
            (9999.0, "9,999"),
            (16312.0, "16.3k"),
            (200_000.0, "200k"),
            (999_900.0, "1M"),
            (2e6, "2M"),
            (-1500.0, "-1,500"),
            (3e11, "3e11"),
        ] {
            assert_eq!(short(value), label);
        }
    }

    #[test]
    fn a_fitted_ruler_shows_small_differences() {
        let ruler = Ruler::new(Scale::Fitted, [0.6974, 0.7381, 0.72].into_iter()).expect("there are points");
        assert!(ruler.range.start > 0.69 && ruler.range.end < 0.745, "{:?}", ruler.range);
        let labels: Vec<String> = ruler.labelled.iter().map(|mark| ruler.format_ext(mark)).collect();
        assert_eq!(labels, ["0.70", "0.71", "0.72", "0.73", "0.74"]);
        let zero = Ruler::new(Scale::Fitted, [-0.5, 0.5].into_iter()).expect("there are points");
        assert!(zero.labelled.iter().any(|mark| zero.format_ext(mark) == "0.0"), "{zero:?}");
    }

    #[test]
    fn rulers_hold_their_points_and_have_labels() {
        for (low, high) in [(1.0, 1.0), (1.0, 1024.0), (90.0, 110.0), (1e-3, 1e9), (0.5, 2.0), (1e5, 2e6)] {
            for scale in [Scale::Linear, Scale::Fitted, Scale::Log] {
                let places: Vec<f64> =
                    [low, high].into_iter().filter_map(|value| scale.place(value)).collect();
                let ruler = Ruler::new(scale, places.iter().copied()).expect("there are points");
                assert!(places.iter().all(|place| ruler.range.contains(place)), "{scale:?} {low} {high}");
                let count = ruler.labelled.len();
                assert!((2..=14).contains(&count), "{scale:?} {low} {high}: {count}");
                assert!(ruler.labelled.iter().all(|mark| ruler.range.contains(mark)));
                let labels: Vec<String> = ruler.labelled.iter().map(|mark| ruler.format_ext(mark)).collect();
                assert!(labels.windows(2).all(|pair| pair[0] != pair[1]), "{labels:?}");
            }
        }
        assert_eq!(Ruler::new(Scale::Log, [].into_iter()), None);
        assert_eq!(
            (Scale::Log.place(0.0), Scale::Log.place(-1.0), Scale::Linear.place(f64::NAN)),
            (None, None, None)
        );
    }

    #[test]
    fn sizes_that_were_measured_are_labelled() {
        let places = [1.0, 8.0, 32.0, 256.0, 1024.0_f64].map(f64::log10);
        let ruler = Ruler::at_data(Scale::Log, places.into_iter()).expect("there are points");
        assert_eq!(
            ruler.labelled.iter().map(|mark| ruler.format_ext(mark)).collect::<Vec<_>>(),
            ["1", "8", "32", "256", "1,024"]
        );
        let grid = [0.0, 0.25, 0.5, 0.75, 1.0];
        let ruler = Ruler::at_data(Scale::Fitted, grid.into_iter()).expect("there are points");
        assert_eq!(
            ruler.labelled.iter().map(|mark| ruler.format_ext(mark)).collect::<Vec<_>>(),
            ["0.00", "0.25", "0.50", "0.75", "1.00"]
        );
        let crowded =
            Ruler::at_data(Scale::Log, (1..100).map(|value| f64::from(value).log10())).expect("points");
        assert_eq!(crowded.labelled, [0.0, 1.0, 2.0]);
    }
}
