//! How fast work is done, measured.

use std::time::Duration;

/// What remains of earlier measurements at the next one.
const MEMORY: f64 = 0.8;

/// Cost a second of the last batches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    cost: f64,
    seconds: f64,
}

impl Rate {
    /// Counts a batch.
    pub(super) fn add(&mut self, cost: usize, time: Duration) {
        self.cost = self.cost * MEMORY + cost as f64;
        self.seconds = self.seconds * MEMORY + time.as_secs_f64();
    }

    /// How long this cost takes; nothing before the first batch.
    pub(super) fn time_of(self, cost: usize) -> Duration {
        if self.cost <= 0.0 {
            return Duration::ZERO;
        }
        // A day is longer than any deadline, and short enough for arithmetic on instants.
        Duration::from_secs_f64((cost as f64 * self.seconds / self.cost).min(86_400.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Rate;

    #[test]
    fn time_follows_the_last_batches() {
        let mut rate = Rate::default();
        assert_eq!(rate.time_of(100), Duration::ZERO);
        rate.add(100, Duration::from_secs(1));
        assert_eq!(rate.time_of(50), Duration::from_millis(500));
        for _ in 0..50 {
            rate.add(100, Duration::from_secs(2));
        }
        assert!((rate.time_of(50).as_secs_f64() - 1.0).abs() < 1e-3);
    }
}
