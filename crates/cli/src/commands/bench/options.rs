//! The flags that all benchmarks share.

use std::time::Duration;

use toller_bench::Budget;

use crate::args::plot::PlotArgs;

/// How long to measure, and what to draw.
#[derive(Debug, clap::Args)]
pub(super) struct BenchOptions {
    #[command(flatten)]
    pub(super) time: TimeArgs,

    #[command(flatten)]
    pub(super) plot: PlotArgs,
}

/// How long to measure.
#[derive(Debug, clap::Args)]
pub(super) struct TimeArgs {
    /// The least time to measure each figure, in seconds; a warm-up and a least number of rounds are added
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    pub(super) seconds: Duration,
}

/// The most texts, tokens or candidates that are made up at a time.
pub(super) const MOST: i64 = 100_000;

/// A benchmark of hours per figure is a mistake.
const MOST_SECONDS: f64 = 3600.0;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds, as in 0.5".to_owned())?;
    if (0.0..=MOST_SECONDS).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("between 0 and {MOST_SECONDS}"))
    }
}

/// Each value once, ascending.
pub(super) fn ascending(values: &[u32]) -> Vec<usize> {
    let mut values: Vec<usize> = values.iter().map(|value| *value as usize).collect();
    values.sort_unstable();
    values.dedup();
    values
}

impl TimeArgs {
    /// Rounds for a figure: at least `min_rounds`.
    pub(super) fn budget(&self, min_rounds: usize) -> Budget {
        Budget { time: self.seconds, min_rounds, max_rounds: 100_000 }
    }
}
