//! How fast work is done, measured.

use std::collections::BTreeMap;
use std::time::Duration;

/// What remains of earlier measurements at the next one.
const MEMORY: f64 = 0.8;

/// A class of costs reaches from a power of this to the next one.
const CLASS: usize = 4;

/// The longest of the costs that are in a class with this one.
pub(super) fn class(cost: usize) -> usize {
    let mut longest = CLASS;
    while longest < cost {
        longest = longest.saturating_mul(CLASS);
    }
    longest
}

/// The time of the last batches, by the class of their cost: a batch takes some time however little is in
/// it, so that small ones do not tell how long a large one takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Rate {
    by_class: BTreeMap<usize, Measured>,
}

/// Sums over batches, the last of which count most.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    batches: f64,
    cost: f64,
    seconds: f64,
}

impl Rate {
    /// Counts a batch.
    pub(super) fn add(&mut self, cost: usize, time: Duration) {
        let measured = self.by_class.entry(class(cost)).or_default();
        measured.batches = measured.batches * MEMORY + 1.0;
        measured.cost = measured.cost * MEMORY + cost as f64;
        measured.seconds = measured.seconds * MEMORY + time.as_secs_f64();
    }

    /// How long this cost takes in batches of up to `batch`. If all batches so far were smaller, it is what
    /// one of them took: nobody is refused for what is not known. Nothing before the first batch.
    pub(super) fn time_of(&self, cost: usize, batch: usize) -> Duration {
        let as_large = self.by_class.range(class(cost.min(batch))..).next();
        let seconds = match (as_large, self.by_class.last_key_value()) {
            (Some((_, measured)), _) if measured.cost > 0.0 => cost as f64 * measured.seconds / measured.cost,
            (_, Some((_, smaller))) => smaller.seconds / smaller.batches,
            (_, None) => 0.0,
        };
        // A day is longer than any deadline, and short enough for arithmetic on instants.
        Duration::from_secs_f64(seconds.min(86_400.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Rate;

    #[test]
    fn time_follows_the_last_batches() {
        let mut rate = Rate::default();
        assert_eq!(rate.time_of(100, 100), Duration::ZERO);
        rate.add(100, Duration::from_secs(1));
        assert_eq!(rate.time_of(50, 100), Duration::from_millis(500));
        for _ in 0..50 {
            rate.add(100, Duration::from_secs(2));
        }
        assert!((rate.time_of(50, 100).as_secs_f64() - 1.0).abs() < 1e-3);
        assert!((rate.time_of(1000, 100).as_secs_f64() - 20.0).abs() < 1e-3);
    }

    #[test]
    fn small_batches_do_not_tell_the_time_of_large_ones() {
        let mut rate = Rate::default();
        for _ in 0..50 {
            rate.add(3, Duration::from_millis(2));
        }
        assert_eq!(rate.time_of(100_000, 5000).as_millis(), 2);
        rate.add(4000, Duration::from_millis(500));
        for _ in 0..50 {
            rate.add(3, Duration::from_millis(2));
        }
        assert_eq!(rate.time_of(100_000, 4000), Duration::from_millis(12_500));
        assert_eq!(rate.time_of(3, 4000).as_millis(), 2);
        // Between both: as in the larger ones.
        assert_eq!(rate.time_of(400, 4000), Duration::from_millis(50));
    }

    #[test]
    fn batches_without_cost_take_the_time_they_took() {
        let mut rate = Rate::default();
        rate.add(0, Duration::from_secs(1));
        assert_eq!(rate.time_of(3, 10), Duration::from_secs(1));
    }
}
