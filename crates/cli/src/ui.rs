//! What the user sees: data on stdout, everything else on stderr.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// How to talk to the user, from the global flags.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ui {
    /// Results as JSON on stdout (`--json`).
    pub json: bool,
    /// Errors only (`-q`).
    pub quiet: bool,
    /// More detail on stderr (`-v`).
    pub verbose: bool,
}

impl Ui {
    /// Data for the user's pipes. A closed pipe is an error of the writer, handled once in `main`.
    pub fn out(&self) -> io::BufWriter<io::StdoutLock<'static>> {
        io::BufWriter::new(io::stdout().lock())
    }

    /// The result as JSON on stdout, if that was asked for.
    pub fn json(&self, result: impl FnOnce() -> serde_json::Value) -> anyhow::Result<()> {
        if self.json {
            let mut out = self.out();
            serde_json::to_writer_pretty(&mut out, &result()).map_err(io::Error::from)?;
            writeln!(out)?;
            out.flush()?;
        }
        Ok(())
    }

    /// A line about what is happening.
    pub fn status(&self, message: impl AsRef<str>) {
        if !self.quiet {
            note(message.as_ref());
        }
    }

    /// A line of detail, with `-v`.
    pub fn detail(&self, message: impl AsRef<str>) {
        if self.verbose && !self.quiet {
            note(message.as_ref());
        }
    }

    /// Something that is not an error, but that the user should know even with `-q`.
    pub fn warning(&self, message: impl AsRef<str>) {
        note(&format!("warning: {}", message.as_ref()));
    }

    /// A progress bar over `total` units (0: unknown), named by what is counted ("passages"). Where
    /// stderr is no terminal, a plain line every ten seconds.
    pub fn progress(&self, title: &str, unit: &'static str, total: u64) -> Progress {
        Progress::new(*self, title, unit, total)
    }
}

/// Writes a line to stderr. A closed stderr is nothing that could be reported.
fn note(message: &str) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Progress of one piece of long work.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    plain: Option<Plain>,
}

/// Progress as plain lines.
#[derive(Debug)]
struct Plain {
    title: String,
    unit: &'static str,
    total: u64,
    started: std::time::Instant,
    last: std::sync::Mutex<std::time::Instant>,
}

/// Between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

impl Progress {
    fn new(ui: Ui, title: &str, unit: &'static str, total: u64) -> Self {
        let terminal = io::stderr().is_terminal();
        let target =
            if ui.quiet || !terminal { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let (done, all, rate) = match unit {
            "bytes" => ("{bytes}", "{total_bytes}".to_owned(), "{bytes_per_sec}"),
            _ => ("{human_pos}", format!("{{human_len}} {unit}"), "{rate}"),
        };
        let style = match total {
            0 => format!("{title} {{spinner}} {done} ({rate}) {{elapsed}}"),
            _ => format!("{title} {{bar:32}} {done}/{all} ({rate}, ETA {{eta}}) {{msg}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&style) {
            let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
                // Writing to the bar's line cannot fail.
                let _ = write!(out, "{:.1}/s", state.per_sec());
            };
            bar.set_style(style.with_key("rate", rate));
        }
        let now = std::time::Instant::now();
        let plain = (!ui.quiet && !terminal).then(|| Plain {
            title: title.to_owned(),
            unit,
            total,
            started: now,
            last: std::sync::Mutex::new(now),
        });
        Self { bar, plain }
    }

    /// Work that an earlier run finished: it counts towards the total, not towards the rate.
    pub fn already_done(&self, units: u64) {
        self.bar.set_position(units);
        self.bar.reset_eta();
    }

    /// Sets how much is done in all.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
        let Some(plain) = &self.plain else { return };
        let Ok(mut last) = plain.last.lock() else { return };
        if last.elapsed() >= PLAIN_INTERVAL {
            *last = std::time::Instant::now();
            let seconds = plain.started.elapsed().as_secs();
            let of = if plain.total == 0 { String::new() } else { format!("/{}", plain.total) };
            note(&format!("{}: {done}{of} {} after {seconds} s", plain.title, plain.unit));
        }
    }

    /// A short text behind the bar.
    pub fn message(&self, message: impl Into<String>) {
        self.bar.set_message(message.into());
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
