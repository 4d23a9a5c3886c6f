//! Repeated measurements, and what they say together.

use std::time::{Duration, Instant};

/// How often to repeat a measurement: until the time is up, but within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// When this much time is up, no further round starts.
    pub time: Duration,
    /// At least this many rounds, however long they take.
    pub min_rounds: usize,
    /// At most this many rounds, however short they are.
    pub max_rounds: usize,
}

impl Budget {
    /// This many rounds, however long they take.
    #[must_use]
    pub fn rounds(rounds: usize) -> Self {
        Self { time: Duration::ZERO, min_rounds: rounds, max_rounds: rounds }
    }
}

/// Seconds of repeated rounds of the same work: at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Timings {
    /// Ascending.
    seconds: Vec<f64>,
}

impl Timings {
    /// From the seconds of each round, in any order; `None` without rounds.
    #[must_use]
    pub fn new(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        (!seconds.is_empty()).then_some(Self { seconds })
    }

    /// The number of rounds.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.seconds.len()
    }

    /// The fastest round, in seconds.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.seconds[0]
    }

    /// The slowest round, in seconds.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.seconds[self.seconds.len() - 1]
    }

    /// The middle round, in seconds; of an even number the mean of the two in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        let count = self.seconds.len();
        (self.seconds[(count - 1) / 2] + self.seconds[count / 2]) / 2.0
    }

    /// The seconds that `percent` of the rounds (0 to 100) did not exceed, by the nearest rank: always a
    /// round that was measured. The 99th percentile of fewer than 100 rounds is the slowest of them.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.seconds.len() as f64).ceil() as usize;
        self.seconds[rank.clamp(1, self.seconds.len()) - 1]
    }
}

/// Does the work once to warm up (round 0) and then, timed, until the budget is spent (rounds 1, 2, ...).
/// What the work returns is the time that counts, which may be less than it took.
///
/// # Errors
/// The first error of the work.
pub fn measure<E>(budget: &Budget, mut work: impl FnMut(usize) -> Result<Duration, E>) -> Result<Timings, E> {
    work(0)?;
    let started = Instant::now();
    let mut seconds = Vec::new();
    loop {
        seconds.push(work(seconds.len() + 1)?.as_secs_f64());
        let rounds = seconds.len();
        let spent = started.elapsed() >= budget.time || rounds >= budget.max_rounds;
        if spent && rounds >= budget.min_rounds {
            seconds.sort_by(f64::total_cmp);
            return Ok(Timings { seconds });
        }
    }
}

/// How long the work takes; what it makes is dropped afterwards.
pub fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    let made = std::hint::black_box(work());
    let time = started.elapsed();
    drop(made);
    time
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use super::{Budget, Timings, measure};

    #[test]
    fn statistics_by_hand() {
        let timings = Timings::new(vec![4.0, 1.0, 3.0, 2.0]).expect("rounds");
        assert_eq!((timings.min(), timings.median(), timings.max(), timings.rounds()), (1.0, 2.5, 4.0, 4));
        let percentiles =
            [0.0, 25.0, 25.1, 50.0, 75.0, 99.0, 100.0].map(|percent| timings.percentile(percent));
        assert_eq!(percentiles, [1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0]);
        let hundred = Timings::new((1..=100).map(f64::from).collect()).expect("rounds");
        assert_eq!([50.0, 95.0, 99.0].map(|percent| hundred.percentile(percent)), [50.0, 95.0, 99.0]);
        assert_eq!(Timings::new(vec![7.0]).expect("a round").median(), 7.0);
        assert_eq!(Timings::new(vec![]), None);
    }

    #[test]
    fn rounds_keep_to_the_budget_and_the_first_warms_up() -> Result<(), Infallible> {
        let mut seen = Vec::new();
        let mut rounds = |seconds: u64, min_rounds, max_rounds| {
            seen.clear();
            let budget = Budget { time: Duration::from_secs(seconds), min_rounds, max_rounds };
            let timings = measure(&budget, |round| {
                seen.push(round);
                Ok::<_, Infallible>(Duration::from_secs(round as u64))
            })?;
            assert_eq!(seen, (0..=timings.rounds()).collect::<Vec<_>>());
            assert_eq!((timings.min(), timings.max()), (1.0, timings.rounds() as f64));
            Ok::<_, Infallible>(timings.rounds())
        };
        assert_eq!(
            [rounds(0, 3, 9)?, rounds(3600, 3, 9)?, rounds(0, 0, 0)?, rounds(3600, 5, 2)?],
            [3, 9, 1, 5]
        );
        Ok(())
    }
}
