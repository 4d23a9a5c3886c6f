//! How numbers become places in a figure.

/// An axis of a figure: from where to where it goes, in numbers and in units of the drawing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    logarithmic: bool,
}

/// About how many labels an axis has.
const LABELS: f64 = 5.0;

impl Scale {
    /// A linear axis.
    pub(crate) fn linear([from, to]: [f64; 2], [start, end]: [f64; 2]) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self { from, to, start, end, logarithmic: false }
    }

    /// A logarithmic axis. Its numbers are above zero.
    pub(crate) fn log([from, to]: [f64; 2], places: [f64; 2]) -> Self {
        Self { logarithmic: true, ..Self::linear([from.log10(), to.log10()], places) }
    }

    /// Where a number is.
    pub(crate) fn place(&self, number: f64) -> f64 {
        let number = if self.logarithmic { number.log10() } else { number };
        self.start + (number - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    /// Where the axis ends in the drawing.
    pub(crate) fn end(&self) -> f64 {
        self.end
    }

    /// The numbers with a label of a linear axis.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let step = step(self.to - self.from);
        let first = (self.from / step - 1e-9).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        (first..=last).map(|count| count as f64 * step).collect()
    }
}

/// The distance of labels: 1, 2 or 5 times a power of ten.
fn step(range: f64) -> f64 {
    let rough = range / LABELS;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

/// The range from the next label below `low` to the next one above `high`.
pub(crate) fn rounded([low, high]: [f64; 2]) -> [f64; 2] {
    let high = if high > low { high } else { low + 1.0 };
    let step = step(high - low);
    [(low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step]
}

/// A number as an axis shows it: as many decimals as the distance of the labels needs.
pub(crate) fn label(number: f64, ticks: &[f64]) -> String {
    let distance = match ticks {
        [first, second, ..] => (second - first).abs(),
        _ => 1.0,
    };
    let decimals = (-distance.log10()).ceil().clamp(0.0, 6.0) as usize;
    let text = format!("{number:.decimals$}");
    // A minus sign as wide as a digit; no minus in front of zero.
    if text.trim_start_matches(['-', '0', '.']).is_empty() {
        return text.trim_start_matches('-').to_owned();
    }
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::{Scale, label, rounded};

    #[test]
    fn labels_are_round_numbers() {
        let scale = Scale::linear([0.0, 1.0], [0.0, 100.0]);
        let shown = |scale: &Scale| {
            let ticks = scale.ticks();
            ticks.iter().map(|tick| label(*tick, &ticks)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&scale), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(shown(&Scale::linear([-0.3, 0.3], [0.0, 1.0])), ["\u{2212}0.2", "0.0", "0.2"]);
        assert_eq!(shown(&Scale::linear([0.0, 6980.0], [0.0, 1.0])), ["0", "2000", "4000", "6000"]);
        assert_eq!(shown(&Scale::linear([5.0, 5.0], [0.0, 1.0])).len(), 6, "an empty range has a width");
    }

    #[test]
    fn ranges_end_at_labels() {
        assert_eq!(rounded([0.506, 0.738]), [0.5, 0.75]);
        assert_eq!(rounded([0.0, 1.0]), [0.0, 1.0]);
        assert_eq!(rounded([3.0, 3.0]), [3.0, 4.0]);
    }

    #[test]
    fn places_are_in_proportion() {
        let scale = Scale::linear([0.0, 2.0], [100.0, 0.0]);
        assert_eq!([0.0, 1.0, 2.0].map(|number| scale.place(number)), [100.0, 50.0, 0.0]);
        let scale = Scale::log([1.0, 1000.0], [0.0, 30.0]);
        assert!((scale.place(10.0) - 10.0).abs() < 1e-9 && (scale.place(1000.0) - 30.0).abs() < 1e-9);
    }
}
