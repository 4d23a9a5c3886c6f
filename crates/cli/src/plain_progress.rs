//! Progress as lines, where stderr is not a terminal. They stay in a log, so a long job writes them more and
//! more seldom.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{FormattedDuration, HumanBytes};
use toller_ir::locked;

use crate::ui::per_second;

/// Progress of one piece of long work.
#[derive(Debug)]
pub struct PlainProgress {
    title: String,
    unit: &'static str,
    /// The units of the whole work; 0 if nobody knows.
    total: u64,
    clock: Mutex<Clock>,
}

/// What lines depend on next to the units done.
#[derive(Debug)]
struct Clock {
    began: Instant,
    /// The units that an earlier run had done.
    before: u64,
    /// When the last line was written, after the beginning.
    last: Duration,
}

impl Clock {
    fn after(before: u64) -> Self {
        Self { began: Instant::now(), before, last: Duration::ZERO }
    }
}

impl PlainProgress {
    /// Progress that begins now.
    pub fn new(title: &str, unit: &'static str, total: u64) -> Self {
        Self { title: title.to_owned(), unit, total, clock: Mutex::new(Clock::after(0)) }
    }

    /// Begins after `units` that an earlier run has done.
    pub fn already_done(&self, units: u64) {
        *locked(&self.clock) = Clock::after(units);
    }

    /// The line to write when `done` units are done in all, if it is time for one.
    pub fn line(&self, done: u64) -> Option<String> {
        let mut clock = locked(&self.clock);
        let elapsed = clock.began.elapsed();
        (elapsed >= clock.last + interval(elapsed)).then(|| {
            clock.last = elapsed;
            self.line_after(elapsed, clock.before, done)
        })
    }

    fn line_after(&self, elapsed: Duration, before: u64, done: u64) -> String {
        let Self { title, unit, total, .. } = self;
        let rate = per_second(done.saturating_sub(before), elapsed.as_secs_f64());
        let is_bytes = *unit == "bytes";
        let amount = |units| if is_bytes { HumanBytes(units).to_string() } else { units.to_string() };
        let all = if *total == 0 { String::new() } else { format!("/{}", amount(*total)) };
        let name = if is_bytes { String::new() } else { format!(" {unit}") };
        let decimals = usize::from(rate < 100.0);
        let each_second = if is_bytes { amount(rate as u64) } else { format!("{rate:.decimals$}") };
        let left = total.saturating_sub(done) as f64 / rate;
        let eta = match Duration::try_from_secs_f64(left) {
            Ok(left) if *total > 0 => format!(", ETA {}", FormattedDuration(left)),
            _ => String::new(),
        };
        let speed = match rate {
            // Seconds of one, where a second has less than a tenth.
            rate if !is_bytes && rate > 0.0 && rate < 0.1 => format!("{:.0} s each", rate.recip()),
            _ => format!("{each_second}/s"),
        };
        let (done, elapsed) = (amount(done), FormattedDuration(elapsed));
        format!("{title}: {done}{all}{name} after {elapsed} ({speed}{eta})")
    }
}

/// The time between two lines, `elapsed` after the beginning.
fn interval(elapsed: Duration) -> Duration {
    const MINUTE: Duration = Duration::from_secs(60);
    match elapsed {
        _ if elapsed < 2 * MINUTE => Duration::from_secs(10),
        _ if elapsed < 60 * MINUTE => MINUTE,
        _ => 10 * MINUTE,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{PlainProgress, interval};

    #[test]
    fn what_an_earlier_run_has_done_is_not_in_the_rate() {
        let line = |unit, total, seconds, before, done| {
            let progress = PlainProgress::new("encoding", unit, total);
            progress.line_after(Duration::from_secs(seconds), before, done)
        };
        for (unit, total, seconds, before, done, expected) in [
            ("passages", 4000, 10, 192, 416, "416/4000 passages after 00:00:10 (22.4/s, ETA 00:02:40)"),
            ("passages", 4000, 10, 0, 2000, "2000/4000 passages after 00:00:10 (200/s, ETA 00:00:10)"),
            ("passages", 4000, 10, 192, 192, "192/4000 passages after 00:00:10 (0.0/s)"),
            ("steps", 12, 45, 0, 1, "1/12 steps after 00:00:45 (45 s each, ETA 00:08:15)"),
            ("passages", 0, 7200, 0, 720, "720 passages after 02:00:00 (0.1/s)"),
            ("bytes", 4096, 2, 0, 2048, "2.00 KiB/4.00 KiB after 00:00:02 (1.00 KiB/s, ETA 00:00:02)"),
        ] {
            assert_eq!(line(unit, total, seconds, before, done), format!("encoding: {expected}"));
        }
    }

    #[test]
    fn a_day_of_work_is_some_two_hundred_lines() {
        let (mut last, mut lines) = (0, Vec::new());
        for second in 0..86_400 {
            if second >= last + interval(Duration::from_secs(second)).as_secs() {
                last = second;
                lines.push(second);
            }
        }
        assert_eq!(lines[..3], [10, 20, 30]);
        assert!((150..250).contains(&lines.len()), "{}", lines.len());
    }

    #[test]
    fn the_first_line_comes_after_ten_seconds() {
        let progress = PlainProgress::new("encoding", "passages", 10);
        assert_eq!(progress.line(3), None);
        progress.already_done(3);
        assert_eq!(progress.line(4), None);
    }
}
